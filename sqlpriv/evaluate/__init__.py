"""How far a synthetic table is from the private one it stands for: for the owner, who may see."""
