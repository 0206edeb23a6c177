"""The names that Kilo has for what it shares with opencode."""

from __future__ import annotations

from segue.integrations.opencode.product import Product

KILO = Product(
    name="kilo", config_names=("opencode", "kilo"), config_folders=(".opencode", ".kilocode", ".kilo"), agent="code"
)
