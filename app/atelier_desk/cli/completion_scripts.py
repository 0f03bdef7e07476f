"""Completion scripts for bash, zsh and fish, generated from the command line's grammar.

The library ``shtab`` cannot write fish scripts. Names of workflows, agents and providers are not completed:
each Tab would open the database.
"""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass, field

FILES = {"FILE", "DIR", "PATH"}
"""Metavariables that stand for a path."""


@dataclass(frozen=True, slots=True)
class Option:
    """An option: its spellings, help and argument.

    Attributes:
        takes_value: an argument follows.
        choices: allowed arguments; empty for any.
        path: the argument is a path.
    """

    names: tuple[str, ...]
    help: str
    takes_value: bool
    choices: tuple[str, ...] = ()
    path: bool = False


@dataclass(slots=True)
class Words:
    """Completions after one command: subcommands with help, options, and argument choices."""

    help: str = ""
    commands: dict[str, Words] = field(default_factory=dict)
    options: list[Option] = field(default_factory=list)
    choices: tuple[str, ...] = ()
    path: bool = False

    def walk(self, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Words]]:
        """This command and all below it, each with its path."""
        found = [(path, self)]
        for name, words in self.commands.items():
            found += words.walk((*path, name))
        return found


def words_of(parser: argparse.ArgumentParser, help: str = "") -> Words:
    """Completions of a parser and its subcommands."""
    words = Words(help=help)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
            words.commands = {name: words_of(sub, helps.get(name, "")) for name, sub in action.choices.items()}
        elif action.option_strings:
            words.options.append(_option(action))
        else:
            words.choices = words.choices or tuple(map(str, action.choices or ()))
            words.path = words.path or action.metavar in FILES
    return words


def _option(action: argparse.Action) -> Option:
    text = (action.help or "").replace("%%", "%")
    choices = tuple(map(str, action.choices or ()))
    metavar = str(action.metavar or "")
    path = metavar in FILES or metavar.endswith("|FILE")
    if not choices and "|" in metavar:
        choices = tuple(part for part in metavar.split("|") if part.islower())
    return Option(tuple(action.option_strings), text, action.nargs != 0, choices, path)


def bash(words: Words) -> str:
    """A completion function for bash 3.2 and later."""
    cases, values = [], []
    for path, each in words.walk():
        offered = " ".join([*each.commands, *each.choices, *(name for option in each.options for name in option.names)])
        cases.append(f'    "{" ".join(path)}") words="{offered}"; files={int(each.path)} ;;')
        for option in each.options:
            if option.takes_value:
                named = "|".join(f'"{" ".join([*path, name])}"' for name in option.names)
                values.append(f'    {named}) words="{" ".join(option.choices)}"; files={int(option.path)}; value=1 ;;')
    known = " ".join(f'"{" ".join(path)}"' for path, _each in words.walk() if path)
    return _BASH.format(known=known, cases="\n".join(cases), values="\n".join(values))


_BASH = """\
# bash completion for atelier
_atelier() {{
  local IFS=$' \\t\\n' word path="" words="" files=0 value=0 i
  local known=({known})
  local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}"
  for ((i = 1; i < COMP_CWORD; i++)); do
    for word in "${{known[@]}}"; do
      if [[ "$word" == "${{path:+$path }}${{COMP_WORDS[i]}}" ]]; then path="$word"; break; fi
    done
  done
  case "${{path:+$path }}$previous" in
{values}
  esac
  if ((!value)); then
    case "$path" in
{cases}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  if ((files)); then
    local IFS=$'\\n'
    COMPREPLY+=($(compgen -f -- "$current"))
    compopt -o filenames 2>/dev/null
  fi
}}
complete -F _atelier atelier
"""


def zsh(words: Words) -> str:
    """A completion function for zsh, to source or to save as ``_atelier`` in ``fpath``."""
    functions = []
    for path, each in words.walk():
        lines = [f"    {_zsh_option(option)}" for option in each.options]
        if each.commands:
            described = " ".join(
                _quoted(f"{name}:{_flat(sub.help).replace(':', chr(92) + ':')}") for name, sub in each.commands.items()
            )
            branches = "\n".join(f"      {name}) {_zsh_name((*path, name))} ;;" for name in each.commands)
            lines += ["    '1: :->command'", "    '*:: :->rest'"]
            after = _ZSH_BRANCH.format(described=described, branches=branches)
        else:
            rest = f"({' '.join(each.choices)})" if each.choices else "_files" if each.path else " "
            lines.append(f"    '*: :{rest}'")
            after = ""
        functions.append(_ZSH_FUNCTION.format(name=_zsh_name(path), arguments=" \\\n".join(lines), after=after))
    return f"#compdef atelier\n# zsh completion for atelier\n{''.join(functions)}{_ZSH_END}"


_ZSH_FUNCTION = """
{name}() {{
  local curcontext="$curcontext" state line
  _arguments -C \\
{arguments}
{after}}}
"""
_ZSH_BRANCH = """\
  case "$state" in
    command) local -a commands=({described}); _describe command commands ;;
    rest)
      case "$line[1]" in
{branches}
      esac ;;
  esac
"""
_ZSH_END = """
if [ "$funcstack[1]" = "_atelier" ]; then
  _atelier "$@"
else
  (( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
  compdef _atelier atelier
fi
"""


def _zsh_name(path: tuple[str, ...]) -> str:
    return "_" + "_".join(["atelier", *path]).replace("-", "_")


def _zsh_option(option: Option) -> str:
    text = re.sub(r"([\[\]:\\])", r"\\\1", _flat(option.help))
    value = ""
    if option.takes_value:
        value = (
            f": :({' '.join(option.choices)})"
            if option.choices and not option.path
            else ": :_files"
            if option.path
            else ": : "
        )
    names = f"({' '.join(option.names)})" if len(option.names) > 1 else ""
    spelled = "{" + ",".join(option.names) + "}" if len(option.names) > 1 else option.names[0]
    # Braces stay outside the quotes because the shell expands them.
    return f"{_quoted(names)}{spelled}{_quoted(f'[{text}]{value}')}" if names else _quoted(f"{spelled}[{text}]{value}")


def fish(words: Words) -> str:
    """``complete`` lines for fish 3."""
    lines = [_FISH.format(known=" ".join(_quoted(" ".join(path)) for path, _each in words.walk() if path))]
    for path, each in words.walk():
        where = "-n " + _quoted(f'__atelier_at "{" ".join(path)}"')
        for name, sub in each.commands.items():
            lines.append(f"complete -c atelier {where} -f -a {_quoted(name)} -d {_quoted(_flat(sub.help))}")
        if each.choices:
            lines.append(f"complete -c atelier {where} -f -a {_quoted(' '.join(each.choices))}")
        elif each.path:
            lines.append(f"complete -c atelier {where} -F")
        lines += [_fish_option(where, option) for option in each.options]
    return "\n".join(lines) + "\n"


_FISH = """\
# fish completion for atelier
set -g __atelier_known {known}
function __atelier_at --description 'Whether the words typed so far name exactly this command'
  set -l path
  for word in (commandline -opc)[2..-1]
    if contains -- (string join ' ' -- $path $word) $__atelier_known
      set -a path $word
    end
  end
  test "$path" = "$argv"
end
complete -c atelier -f"""


def _fish_option(where: str, option: Option) -> str:
    spelled = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
    value = ""
    if option.takes_value:
        value = " -r -F" if option.path else f" -x -a {_quoted(' '.join(option.choices))}" if option.choices else " -x"
    return f"complete -c atelier {where} {spelled}{value} -d {_quoted(_flat(option.help))}"


def _flat(text: str) -> str:
    return " ".join(text.split())


def _quoted(text: str) -> str:
    """A word in single quotes, for zsh and fish; a quote inside is written outside of them."""
    return "'" + text.replace("'", "'\"'\"'") + "'"
