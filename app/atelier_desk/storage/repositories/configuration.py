"""User configuration: agents, providers, models, MCP servers, rules and settings."""

from __future__ import annotations

import builtins
import json
from collections.abc import Iterable

from pydantic import ValidationError

from atelier_desk.domain.agent import Agent
from atelier_desk.domain.errors import ConflictError, StorageError
from atelier_desk.domain.mcp import McpEntry
from atelier_desk.domain.permission import PermissionRule
from atelier_desk.domain.provider import ModelInfo, ProviderConfig
from atelier_desk.domain.settings import Settings
from atelier_desk.storage import damage_report, database_errors, tables
from atelier_desk.storage.damaged_configuration import SETTING_HASHED, damaged_configuration, is_intact_setting
from atelier_desk.storage.repositories.base_repository import DeletingRepository, Repository, upsert
from atelier_desk.storage.row_hash import row_hash
from atelier_desk.storage.row_mapping import record, to_json
from atelier_desk.storage.store import Statement, Store
from atelier_desk.support.i18n import N_

NAME_IN_USE = N_("There is already an agent named {name}.")


class AgentRepository(DeletingRepository[Agent]):
    """Agents; names are unique."""

    table = tables.AGENTS
    what = "agent"
    absent = N_("There is no agent {id}.")

    async def save(self, agent: Agent) -> None:
        """Insert or replace an agent.

        Raises:
            ConflictError: another agent has the name.
        """
        try:
            await self._store.write(upsert(self.table, agent))
        except StorageError as error:
            if "already contains" in str(error):
                raise ConflictError(NAME_IN_USE, name=agent.name) from error
            raise

    async def by_name(self, name: str) -> Agent:
        """Return the agent with this name.

        Raises:
            NotFoundError: there is none.
        """
        found = await self._select("WHERE name = $name LIMIT 1", name=name)
        if not found:
            raise self.missing(name)
        return found[0]

    async def list(self) -> list[Agent]:
        """All agents by name."""
        return await self._select("ORDER BY name")


class ProviderRepository(Repository[ProviderConfig]):
    """Providers, keyed by name."""

    table = tables.PROVIDERS
    what = "provider"
    absent = N_("There is no provider {id}.")

    async def save(self, config: ProviderConfig) -> None:
        """Insert or replace a provider."""
        await self._store.write(upsert(self.table, config))

    async def list(self) -> list[ProviderConfig]:
        """All providers by name."""
        return await self._select("ORDER BY name")

    def renaming(
        self, old: str, renamed: ProviderConfig, models: Iterable[ModelInfo], agents: Iterable[Agent]
    ) -> builtins.list[Statement]:
        """Return statements for one transaction that renames a provider, with its models and the agents that use it."""
        written = [
            *(upsert(tables.MODELS, model) for model in models),
            *(upsert(tables.AGENTS, agent) for agent in agents),
        ]
        gone = Statement(database_errors.throw_not_found(self.what), {"guarded": self.table.record(old)})
        return [gone, upsert(self.table, renamed), *written, *self._deleting(old)]

    async def delete(self, name: str) -> None:
        """Delete a provider and its known models.

        Raises:
            NotFoundError: there is none.
        """
        await self._store.write(
            Statement(database_errors.throw_not_found(self.what), {"guarded": self.table.record(name)}),
            *self._deleting(name),
        )

    def _deleting(self, name: str) -> builtins.list[Statement]:
        return [
            Statement("DELETE model WHERE provider = $name RETURN NONE", {"name": name}),
            Statement("DELETE $row RETURN NONE", {"row": self.table.record(name)}),
        ]


class ModelRepository(Repository[ModelInfo]):
    """Models by provider and name."""

    table = tables.MODELS
    what = "model"
    absent = N_("There is no model {id}.")

    async def save(self, model: ModelInfo) -> None:
        """Insert or replace a model."""
        await self._store.write(upsert(self.table, model))

    async def get(self, provider: str, name: str = "") -> ModelInfo:
        """One model.

        Raises:
            NotFoundError: it is not stored.
        """
        found = await self._find([provider, name])
        if found is None:
            raise database_errors.not_there(self.what, f"{provider}/{name}")
        return found

    async def list(self, provider: str | None = None) -> list[ModelInfo]:
        """All models, or those of one provider, by provider and name."""
        condition = "WHERE provider = $provider" if provider is not None else ""
        return await self._select(f"{condition} ORDER BY provider, name", provider=provider or "")

    async def delete(self, provider: str, name: str) -> None:
        """Delete one.

        Raises:
            NotFoundError: it is not stored.
        """
        await self.get(provider, name)
        await self._store.write(Statement("DELETE $row RETURN NONE", {"row": self.table.record([provider, name])}))


class McpServerRepository(DeletingRepository[McpEntry]):
    """MCP servers, keyed by name."""

    table = tables.MCP_SERVERS
    what = "MCP server"
    absent = N_("There is no MCP server {id}.")

    async def save(self, entry: McpEntry) -> None:
        """Insert or replace a server."""
        await self._store.write(upsert(self.table, entry))

    async def list(self) -> list[McpEntry]:
        """All servers by name."""
        return await self._select("ORDER BY name")


class RuleRepository(DeletingRepository[PermissionRule]):
    """Permissions of agents in addition to their profile.

    Rules that come with a decision, and the time of a rule's last use, are written by the journal's commits.
    """

    table = tables.RULES
    what = "rule"
    absent = N_("There is no rule {id}.")

    async def list(self) -> list[PermissionRule]:
        """All rules, oldest first."""
        return await self._select("ORDER BY created_at, id")

    async def save(self, *rules: PermissionRule) -> None:
        """Insert or replace rules in one transaction."""
        await self._store.write(*(upsert(self.table, rule) for rule in rules))


class SettingsRepository:
    """Settings: one row per field, as JSON; a field without a row has its default."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def load(self) -> Settings:
        """Return all settings, including active standing rules of approvals; rules that wait for confirmation
        (``held``) are omitted.

        Unknown rows are left alone; damaged rows and invalid values count as unset.
        """
        rows, rules = await self._store.query(
            "RETURN [(SELECT id, `value`, hash FROM setting), (SELECT * FROM permission_rule WHERE held != true "
            "ORDER BY created_at, id)]"
        )
        stored = {row["id"].id: json.loads(row["value"]) for row in rows if is_intact_setting(row)}
        known = {name: value for name, value in stored.items() if name in Settings.model_fields}
        return _accepted(known).with_rules(RuleRepository(self._store).readable(rules))

    async def refuse_damaged(self) -> None:
        """Raise if a row that may restrict agents is damaged.

        Raises:
            StorageError: ``damaged_row``: a setting or a rule is damaged; the error says what to do.
        """
        found = await damaged_configuration(self._store.query_all, damage_report.RESTRICTING)
        if found:
            raise damage_report.not_begun(found)

    async def save(self, settings: Settings, *others: Statement) -> None:
        """Write every setting in one transaction, except standing rules, which have their own rows
        (``RuleRepository``).

        ``others`` join that transaction. A damaged row stays, and is still reported, until its field gets a non-default
        value.
        """
        settings = settings.with_rules(())
        damaged = {each.row for each in await damaged_configuration(self._store.query_all, ("setting",))}
        defaults = Settings()
        names = (
            name
            for name in Settings.model_fields
            if name not in damaged or getattr(settings, name) != getattr(defaults, name)
        )
        await self._store.write(*(_setting(name, to_json(getattr(settings, name))) for name in names), *others)


async def remove_damaged(store: Store) -> list[damage_report.Damage]:
    """Delete the damaged rows of configuration in one transaction and return them.

    Deleted settings revert to their defaults.
    """
    found = [each for each in await damaged_configuration(store.query_all) if each.row != "?"]
    await store.write(*(Statement("DELETE $row RETURN NONE", {"row": record(each.table, each.row)}) for each in found))
    return found


def _setting(name: str, value: str) -> Statement:
    content = {"id": record("setting", name), "value": value}
    content["hash"] = row_hash(content, SETTING_HASHED)
    return Statement("UPSERT $row CONTENT $content RETURN NONE", {"row": content["id"], "content": content})


def _accepted(values: dict[str, object]) -> Settings:
    """Build settings from stored values, skipping those that do not validate."""
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        wrong = {str(item["loc"][0]) for item in error.errors()}
        return Settings.model_validate({name: value for name, value in values.items() if name not in wrong})
