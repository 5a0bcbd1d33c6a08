"""Where people meet sqlpriv: DB-API, command line, shell, server, editors."""
