"""Reads QR codes, as a phone does."""

import zbar


def scan(image):
    """The texts of the codes in a PIL image."""
    pixels = zbar.Image(image.width, image.height, "Y800", image.convert("L").tobytes())
    scanner = zbar.ImageScanner()
    scanner.parse_config("disable")
    scanner.parse_config("qrcode.enable")
    scanner.scan(pixels)
    return [found.data for found in pixels]
