"""`python -m sqlpriv` is the command `sqlpriv`."""

from sqlpriv.interfaces.cli.main import main

if __name__ == "__main__":
    main(prog_name="sqlpriv")
