"""Files and images in a session of GitHub Copilot CLI. Their bytes are in events of their own, each stored once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.formats.records import BadRecordError
from segue.integrations.format.parts import file_part, image_part
from segue.integrations.format.transcript import parse_record
from segue.integrations.format.values import as_text, child, objects

if TYPE_CHECKING:
    from segue.integrations.format.lines import LinePlace, Lines
    from segue.model import JsonObject


class AssetIndex:
    """Where the bytes of each file and image are. They are read when they are needed: there may be many."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._places: dict[str, LinePlace] = {}

    def add(self, id: str, at: LinePlace) -> None:
        self._places[id] = at

    def data(self, described: JsonObject) -> str:
        """The bytes in base64: in the description itself, or in the event that it names; empty if they are gone."""
        if isinstance(data := described.get("data"), str):
            return data
        place = self._places.get(as_text(described.get("assetId")))
        if place is None:
            return ""
        try:
            record = parse_record(self._lines.at(place))
        except BadRecordError:
            return ""
        return as_text(child(record, "data").get("data")) if isinstance(record, dict) else ""


def attachment_parts(attachments: object, assets: AssetIndex) -> list[JsonObject]:
    return [_part(attachment, assets) for attachment in objects(attachments)]


def _part(attachment: JsonObject, assets: AssetIndex) -> JsonObject:
    if _is_image(attachment):
        return image_part(attachment.get("mimeType"), assets.data(attachment))
    names = ("path", "filePath", "url", "displayName", "title", "type")
    return file_part(next((attachment[name] for name in names if attachment.get(name)), ""), attachment.get("text"))


def result_images(result: JsonObject, assets: AssetIndex) -> list[JsonObject]:
    """The images that the model got; without a list of those, the images among the blocks of the result."""
    found = objects(result.get("binaryResultsForLlm")) or objects(result.get("contents"))
    return [image_part(one.get("mimeType"), assets.data(one)) for one in found if _is_image(one)]


def _is_image(described: JsonObject) -> bool:
    return as_text(described.get("mimeType")).startswith("image/")
