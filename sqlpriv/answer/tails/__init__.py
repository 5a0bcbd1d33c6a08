"""What plain SQL over noised answers may be off by."""
