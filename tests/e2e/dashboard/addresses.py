"""Addresses of visitors whose countries the database knows."""

BERLIN = "85.214.132.117"
GOOGLE = "8.8.8.8"
