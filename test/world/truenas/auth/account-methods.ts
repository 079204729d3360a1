import { instanceNotFound } from '../middleware/errors.ts';
import type { ApiMethod } from '../middleware/method.ts';
import { applyQuery, type Entry, instanceParameters, type QueryOptions, queryParameters } from '../middleware/query.ts';
import { type ApiKey, type NasState, type NasUser, toExtendedJsonDate } from '../nas-state.ts';
import type { ClientConnection } from '../protocol/client-connection.ts';
import { rolesOfRelease } from './roles.ts';
import { isKeyExpired } from './tokens.ts';

/**
 * `user.*`, `group.*`, `privilege.*` and `api_key.*`, read-only. A user has one group, and through it one privilege.
 */
export const accountMethods: readonly ApiMethod[] = [
  ...queryMethods('user', 'User', ['ACCOUNT_READ'], (nas) => nas.users.map((user) => userEntry(nas, user))),
  ...queryMethods('group', 'Group', ['ACCOUNT_READ'], (nas) => nas.users.map((user) => groupEntry(nas, user))),
  ...queryMethods('privilege', 'Privilege', ['PRIVILEGE_READ'], (nas) =>
    nas.users.filter(({ roles }) => roles.length > 0).map((user) => privilegeEntry(nas, user)),
  ),
  ...queryMethods('api_key', 'ApiKey', ['API_KEY_READ'], (nas) => nas.keys.map((key) => keyEntry(nas, key))),
  {
    name: 'api_key.my_keys',
    parameters: [],
    access: ['READONLY_ADMIN', 'API_KEY_READ'],
    run: (_, { nas, client }) =>
      nas.keys.filter(({ user }) => user === client.identity?.user.name).map((key) => keyEntry(nas, key)),
  },
  {
    name: 'privilege.roles',
    parameters: queryParameters,
    access: ['PRIVILEGE_READ'],
    run: ([filters, options], { nas }) => applyQuery(roleEntries(nas), filters, options as QueryOptions),
  },
];

function queryMethods(
  name: string,
  kind: 'User' | 'Group' | 'Privilege' | 'ApiKey',
  access: readonly string[],
  entries: (nas: NasState) => Entry[],
): ApiMethod[] {
  return [
    {
      name: `${name}.query`,
      parameters: queryParameters,
      access,
      run: ([filters, options], { nas }) => applyQuery(entries(nas), filters, options as QueryOptions),
    },
    {
      name: `${name}.get_instance`,
      parameters: instanceParameters(),
      access,
      run: ([id], { nas }) => {
        const found = entries(nas).find((entry) => entry['id'] === id);
        if (!found) throw instanceNotFound(kind, id);
        return found;
      },
    },
  ];
}

const userNumberOf = (nas: NasState, { name }: NasUser): number =>
  nas.users.findIndex((user) => user.name === name) + 1;
const isRoot = ({ name }: NasUser): boolean => name === 'root';
const uidOf = (nas: NasState, user: NasUser): number => (isRoot(user) ? 0 : 2999 + userNumberOf(nas, user));

function userEntry(nas: NasState, user: NasUser): Entry {
  const id = userNumberOf(nas, user);
  return {
    id,
    uid: uidOf(nas, user),
    username: user.name,
    home: isRoot(user) ? '/root' : '/var/empty',
    shell: '/usr/bin/zsh',
    full_name: user.name,
    builtin: isRoot(user),
    smb: false,
    group: { id, bsdgrp_gid: uidOf(nas, user), bsdgrp_group: user.name },
    groups: [],
    password_disabled: user.password === null,
    ssh_password_enabled: false,
    sshpubkey: null,
    locked: false,
    sudo_commands: [],
    sudo_commands_nopasswd: [],
    email: null,
    local: true,
    immutable: isRoot(user),
    twofactor_auth_configured: user.twoFactor,
    sid: null,
    roles: [...user.roles],
    api_keys: nas.keys.filter((key) => key.user === user.name).map((key) => key.id),
  };
}

function groupEntry(nas: NasState, user: NasUser): Entry {
  const id = userNumberOf(nas, user);
  return {
    id,
    gid: uidOf(nas, user),
    name: user.name,
    group: user.name,
    builtin: isRoot(user),
    smb: false,
    sudo_commands: [],
    sudo_commands_nopasswd: [],
    userns_idmap: null,
    local: true,
    sid: null,
    roles: [...user.roles],
    users: [id],
    immutable: isRoot(user),
  };
}

function privilegeEntry(nas: NasState, user: NasUser): Entry {
  return {
    id: userNumberOf(nas, user),
    builtin_name: isRoot(user) ? 'LOCAL_ADMINISTRATOR' : null,
    name: isRoot(user) ? 'Local Administrator' : user.name,
    local_groups: [groupEntry(nas, user)],
    ds_groups: [],
    roles: [...user.roles],
    web_shell: isRoot(user),
  };
}

function keyEntry(nas: NasState, key: ApiKey): Entry {
  const owner = nas.users.find(({ name }) => name === key.user);
  return {
    id: key.id,
    name: `key ${key.id}`,
    username: key.user,
    user_identifier: owner ? userNumberOf(nas, owner) : 0,
    ...(nas.version.hasScram ? {} : { keyhash: '********' }),
    created_at: toExtendedJsonDate(nas.bootedAt),
    expires_at: key.revokedReason === null ? toExtendedJsonDate(key.expiresAt) : null,
    local: true,
    revoked: isKeyExpired(key) && key.revokedReason !== null,
    ...(nas.version.hasJobOptions ? { revoked_reason: key.revokedReason } : {}),
  };
}

function roleEntries(nas: NasState): Entry[] {
  const grantable = new Set(['FULL_ADMIN', 'READONLY_ADMIN', 'SHARING_ADMIN', 'REPLICATION_ADMIN']);
  return [...rolesOfRelease(nas.version)].map(([name, includes]) => ({
    name,
    title: name,
    includes: name === 'FULL_ADMIN' ? [] : [...includes],
    builtin: !grantable.has(name),
    stig: null,
  }));
}

/** `auth.me` and the `user_info` of a login. */
export function describeUser({ identity }: ClientConnection): Entry {
  const name = identity?.user.name ?? '';
  const root = name === 'root';
  return {
    pw_name: name,
    pw_gecos: name,
    pw_dir: root ? '/root' : `/home/${name}`,
    pw_shell: '/usr/bin/zsh',
    pw_uid: root ? 0 : 3000,
    pw_gid: root ? 0 : 3000,
    grouplist: null,
    sid: null,
    source: 'LOCAL',
    local: true,
    attributes: {},
    two_factor_config: { secret_configured: identity?.user.twoFactor ?? false, provisioning_uri: null },
    privilege: {
      allowlist: identity?.roles.has('FULL_ADMIN') ? [{ method: '*', resource: '*' }] : [],
      roles: { $set: [...(identity?.roles ?? [])].sort() },
      web_shell: root,
      webui_access: true,
    },
    account_attributes: ['LOCAL', ...(identity?.kind === 'API_KEY' ? ['API_KEY'] : [])],
  };
}
