"""Compress the texts of rows where that makes them shorter.

A journal row consists mostly of field names. Deflate with a dictionary of them shrinks a 600-byte event to about 150
bytes; without a dictionary it would be 330. Readers accept both forms: rows written before schema 11, and texts that
would not shrink, are plain.

A compressed text is one byte that identifies the dictionary, followed by a raw deflate stream. A dictionary never
changes, because existing rows depend on it; an improved one gets the next number.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "run_event": ("body",),
    "message": ("content", "reasoning", "usage"),
    "tool_execution": ("arguments", "result", "presentation"),
    "prompt_frame": ("system", "tools"),
    "run": ("usage",),
    "workflow": ("usage", "choices"),
}
"""By table: the columns whose texts may be compressed. No query has a condition on them."""
SHORTEST = 32
"""Texts shorter than this many characters are not compressed; hardly anything would be gained."""
LARGEST = 64 * 1024 * 1024
"""Texts of more bytes are never compressed or unpacked, so a manipulated file cannot blow up one value further."""


def pack(text: str) -> str | bytes:
    """Return the text as it is stored: compressed if that is shorter."""
    if len(text) < SHORTEST:
        return text
    try:
        plain = text.encode()
    except UnicodeEncodeError:
        return text
    if len(plain) > LARGEST:
        return text
    deflate = _PRIMED.copy()
    packed = _FIRST + deflate.compress(plain) + deflate.flush()
    return packed if len(packed) < len(plain) else text


def unpack(value: str | bytes) -> str:
    """Inverse of ``pack``.

    Raises:
        ValueError: the bytes are not a compressed text.
    """
    if isinstance(value, str):
        return value
    if value[:1] != _FIRST:
        raise ValueError("unknown dictionary")
    inflate = zlib.decompressobj(-zlib.MAX_WBITS, _DICTIONARY)
    try:
        plain = inflate.decompress(value[1:], LARGEST)
    except zlib.error as error:
        raise ValueError(str(error)) from error
    if not inflate.eof or inflate.unused_data:
        raise ValueError("not the whole of a compressed text")
    return plain.decode()


def packed(table: str, row: Mapping[str, object]) -> dict[str, object]:
    """Return the row as it is stored."""
    return {**row, **{name: pack(value) for name in COLUMNS.get(table, ()) if isinstance(value := row.get(name), str)}}


def unpacked(table: str, row: Mapping[str, object]) -> dict[str, object]:
    """Inverse of ``packed``.

    Raises:
        ValueError: a column is damaged.
    """
    return {
        **row,
        **{name: unpack(value) for name in COLUMNS.get(table, ()) if isinstance(value := row.get(name), bytes)},
    }


def readable(table: str, row: Mapping[str, object]) -> dict[str, Any]:
    """Like ``unpacked``, with an empty text in place of each damaged one."""

    def text(value: bytes) -> str:
        try:
            return unpack(value)
        except ValueError:
            return ""

    return {
        **row,
        **{name: text(value) for name in COLUMNS.get(table, ()) if isinstance(value := row.get(name), bytes)},
    }


_FIRST = b"\x01"
_DICTIONARY = (
    b'"description":"Use it when: \\nDo not use it when: \\nOperations (* = required):\\n- \\nExample: {\\"operatio'
    b'n\\": \\"\\nLimits: At most  characters. (required). Default: ","parameters":{"type":"object","properties":'
    b'{"operation":{"type":"string","enum":[""anyOf":[{"type":"array","items":{"type":"string"},"minItems":1,"'
    b'maxItems":"type":"integer","minimum":1,"maximum":1000,"default":true},{"type":"null"},{"type":"boolean",'
    b'"description":"For  (required). "},"path":{"description":"","type":"string","minLength":1,"maxLength":"d'
    b'escription":"What to do."},"enum":["],"type":"string"},"value":{"description":"","type":"number"},"requi'
    b'red":["operation"],"additionalProperties":false},"variants":[{"type":"object","properties":{"operation":'
    b'{"enum":[""],"type":"string"}},"additionalProperties":false,"required":["operation","You are a helpful a'
    b"ssistant.\n\nToday is Friday Monday Tuesday Wednesday Thursday Saturday Sunday January 2026 November 2027."
    b' Answer in the language of the user\'s message; when in doubt, in English.{"type":"run_started","agent_id'
    b'":"","agent":{"name":"","lifecycle":"permanent","provider":"","model":"","temperature":0.7,"max_tokens":'
    b'4096,"system_prompt":"You are a helpful assistant.","tools":[],"sections":[],"mcp_servers":[],"tool_mode'
    b'":"direct","tool_dialect":"native","max_tool_iterations":50,"enable_thinking":true,"effort":null,"questi'
    b'on_timeout_s":0.0,"approval":"selective","budget":{"max_cost":null,"max_tokens":null,"max_seconds":null,'
    b'"max_tool_calls":null}},"mode":"auto","previous_run_id":null,"parent_run_id":null,"correlation_id":"","d'
    b'epth":0,"parent_call_id":"","title":"","lineage":[],"max_depth":3,"approvals":{"flags":{"tools":false,"s'
    b'ub_agents":true,"mcp":true,"file_ops":true,"db_ops":true},"auto_approve_low":true,"always_confirm_high":'
    b'false,"timeout_s":0.0,"on_timeout":"reject","risks":{},"rules":[],"mode":"selective","snapshot":"4f53cda'
    b'18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"},"language":"en","workspace":[],"trusted":[],'
    b'"instructions":[],"skills":[],"attachments":[],"tainted":[]}{"type":"user_message","message_id":"01a21e6'
    b'd3","content":"","images":[],"files":[],"attachments":[],"invoked":null,"strategy":"queue","agent":null,'
    b'"agent_id":""}{"type":"run_finished","status":"completed","summary":"","result":"","error":"","misfit":"'
    b'"}{"provider":"","model":"","thinking":null,"approval":null,"budget":{"max_cost":null,"max_tokens":null,'
    b'"max_seconds":null,"max_tool_calls":null},"instructions":""}{"type":"tool_call_finished","call_id":"call'
    b'_","tool":"","status":"ok","result":{"success":true,"result":,"content":"","path":"","size":},"text":"{\\'
    b'"success\\": true, \\"result\\": , \\"content\\": \\"","error":"","code":"","duration_ms":,"truncated":false,"'
    b'parts":[],"state":null,"state_of":"","skill":null,"tainted":[],"end":null,"end_summary":""}{"type":"tool'
    b'_call_started","call_id":"call_","tool":"","arguments":{"operation":"","path":"","via":"","server":"","s'
    b'ection":"core_ops","effect":"read","risk":"low","idempotent":true,"subjects":{"paths":[],"writes":[],"co'
    b'mmand":"","folder":"","sandbox":"","hosts":[],"server":"","agents":[]},"presentation":{"icon":"","title"'
    b':"","summary":{"text":"{path}","params":{"path":""}},"done":""},"verdict":{"action":"allow","reason":"mo'
    b'de","rule_id":"","rule":"","about":""},"grounds":{"version":4,"level":"","kind":"tool","home":"/home/","'
    b'taint":""}{"type":"model_replied","message_id":"01a21e6d3","reply":{"content":"","reasoning":"","tool_ca'
    b'lls":[{"id":"call_","name":"","arguments":{"operation":"","path":"","raw":null,"error":null,"repaired":f'
    b'alse,"provider_data":null}],"usage":{"tokens_input":,"tokens_output":,"tokens_cached":0,"tokens_stored":'
    b'0,"tokens_reasoning":0,"cost":0.0,"saved":0.0,"tokens_unpriced":0,"estimated":false},"finish_reason":"st'
    b'op","finish_reason":"tool_calls","model":"","provider_data":null},"provider":"","dialect":"native","fram'
    b'e":"","with_tools":true,"with_images":false,"blind":false,"based_on":2,"searched_tools":0,"searched_toke'
    b'ns":0,"search_scope":"servers","usage":{"tokens_input":0,"tokens_output":0,"tokens_cached":0,"tokens_sto'
    b'red":0,"tokens_reasoning":0,"cost":0.0,"saved":0.0,"tokens_unpriced":0,"estimated":false},"context_token'
    b's":,"context_window":32768,"max_tokens":4096,"duration_ms":,"reasoning_ms":0}'
)
"""What rows have in common, the most frequent strings last. Must never change, see the module's docstring."""
# Less memory than the default, because the whole compressor is copied for each text.
_PRIMED = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS, 5, zlib.Z_DEFAULT_STRATEGY, _DICTIONARY)
