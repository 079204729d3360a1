import { z } from 'zod';
import { SecretString } from '../../../lib/secret-string.ts';
import { HetznerRobotError } from '../error-codes.ts';

/**
 * Schemas of the answers, with our own field names. Unknown fields pass. An answer of a shape that is neither
 * documented nor was seen is refused.
 */

/** A number, written as a number or as text: masks come as both. */
const Count = z.union([z.int(), z.string().regex(/^\d+$/).transform(Number)]);
/** Absent, null and empty are the same. */
const Text = z
  .string()
  .nullish()
  .transform((text) => text || undefined);
const listOf = <T extends z.ZodType>(item: T) =>
  z
    .array(item)
    .nullish()
    .transform((list) => list ?? []);
/** Unwraps an answer: most objects are the value of a field with the name of their kind. */
const wrapped = <K extends string, T extends z.ZodType>(name: K, inner: T) =>
  z
    .looseObject({ [name]: inner } as Record<K, T>)
    .transform((outer) => (outer as Record<string, unknown>)[name] as z.infer<T>);

/** A server of the account, from `/server` and `/server/{n}`. */
export const RobotServer = z
  .looseObject({
    server_number: z.int().positive(),
    server_name: Text,
    server_ip: Text,
    server_ipv6_net: Text,
    product: Text,
    dc: Text,
    status: z.string(),
    cancelled: z.boolean(),
    paid_until: Text,
    ip: listOf(z.string()),
  })
  .transform((server) => ({
    number: server.server_number,
    /** Free text; empty when no name is set. */
    name: server.server_name ?? '',
    /** Main IPv4 address; absent where the server was ordered without one. */
    address: server.server_ip,
    /** Network address of the main /64, without a length: `2001:db8:7a:11c::`. */
    ipv6Net: server.server_ipv6_net,
    product: server.product ?? '',
    dc: server.dc ?? '',
    /** `in process` while the server is being set up, and for any other state that is not ready. */
    status: server.status === 'ready' ? ('ready' as const) : ('in process' as const),
    /** The server is cancelled. */
    cancelled: server.cancelled,
    /** `2031-05-14`. */
    paidUntil: server.paid_until,
    addresses: server.ip,
  }));
export type RobotServer = z.infer<typeof RobotServer>;
export const ServerReply = wrapped('server', RobotServer);
export const ServersReply = z.array(ServerReply);

/** A key in a boot configuration. `host_key` was never seen with a value. */
const keyFingerprint = z
  .looseObject({ key: z.looseObject({ fingerprint: z.string() }) })
  .transform(({ key }) => key.fingerprint.toLowerCase());

/** The systems to choose from while it is inactive (an array), or the active one (a scalar). */
const choices = <T extends z.ZodType>(item: T) =>
  z
    .union([z.array(item), item])
    .nullish()
    .transform((value) => (value === null || value === undefined ? [] : [value].flat()) as z.infer<T>[]);

/** The rescue system of a server, from `/boot/{n}/rescue`. */
export const RescueBoot = z
  .looseObject({
    server_number: z.int().optional(),
    active: z.boolean(),
    os: choices(z.string()),
    // Deprecated, and absent in newer answers.
    arch: choices(Count),
    password: z.string().nullish(),
    authorized_key: listOf(keyFingerprint),
    host_key: listOf(z.unknown()),
    boot_time: z.unknown(),
  })
  .transform((rescue) => ({
    number: rescue.server_number,
    /** Armed for the next network boot. Cleared by the boot, minutes before SSH answers. */
    active: rescue.active,
    /** The systems to choose from, or the chosen one. */
    systems: rescue.os,
    architectures: rescue.arch,
    /** Password of root; absent when keys were given. */
    password: rescue.password ? new SecretString(rescue.password) : undefined,
    /** Authorized keys: MD5, lower case, with colons. */
    fingerprints: rescue.authorized_key,
  }));
export type RescueBoot = z.infer<typeof RescueBoot>;
export const RescueReply = wrapped('rescue', RescueBoot);

/** All boot configurations of a server, from `/boot/{n}`. Configurations that it does not offer are null or absent. */
export const BootReply = wrapped(
  'boot',
  z
    .looseObject({ rescue: RescueBoot.nullish() })
    .catchall(z.looseObject({ active: z.boolean(), server_number: z.int().optional() }).nullish()),
).transform(({ rescue, ...others }) => {
  const installers = Object.entries(others).filter(([, section]) => section?.active === true);
  return {
    number: rescue?.number ?? Object.values(others).find((section) => section?.server_number)?.server_number,
    /** Absent where the product does not offer rescue. */
    rescue: rescue ?? undefined,
    /** `linux`, `vnc`, `windows`…: each of them erases the server at its next boot. */
    armedInstallers: installers.map(([name]) => name),
  };
});
export type BootConfigs = z.infer<typeof BootReply>;

/** Reset types of a server, from `/reset/{n}`. */
export const ResetReply = wrapped(
  'reset',
  z
    .looseObject({
      // Absent in the documented answer to a reset.
      server_number: z.int().optional(),
      type: choices(z.string()),
      operating_status: Text,
    })
    .transform(({ server_number, type, operating_status }) => ({
      number: server_number,
      /** `sw`, `hw`, `power`, `power_long`, `man`, or an unknown type. */
      types: type,
      power: powerOf(operating_status),
    })),
);
export type ResetInfo = z.infer<typeof ResetReply>;

function powerOf(status: string | undefined): 'on' | 'off' | undefined {
  if (status === 'running') return 'on';
  return status === 'shut off' ? 'off' : undefined;
}

/** `2030-11-02 09:15:41`, in an unknown time zone and read as UTC, or ISO 8601: clients have seen both. */
const Timestamp = Text.transform((text) => {
  const plain = text && /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(text) ? `${text.replace(' ', 'T')}Z` : text;
  const date = plain ? new Date(plain) : undefined;
  return date && Number.isFinite(date.getTime()) ? date : undefined;
});

/** An SSH key of the account. */
export const KeyReply = wrapped(
  'key',
  z
    .looseObject({ name: z.string(), fingerprint: z.string(), type: Text, data: Text, created_at: Timestamp })
    .transform(({ name, fingerprint, type, data, created_at }) => ({
      name,
      /** MD5 of the blob: 16 bytes in lower case, with colons. */
      fingerprint: fingerprint.toLowerCase(),
      /** `ED25519`, `RSA`, `ECDSA`. */
      type,
      /** The public key. Robot may have dropped its comment. */
      data,
      createdAt: created_at,
    })),
);
export type SshKey = z.infer<typeof KeyReply>;

/** A single address with its gateway, from `/ip/{ip}`. */
export const IpReply = wrapped(
  'ip',
  z
    .looseObject({ ip: z.string(), server_number: z.int(), gateway: z.string(), mask: Count, locked: z.boolean() })
    .transform(({ ip, server_number, gateway, mask, locked }) => ({
      ip,
      number: server_number,
      gateway,
      prefix: mask,
      locked,
    })),
);
export type IpAddress = z.infer<typeof IpReply>;

/** A vSwitch in a list. Robot does not wrap these objects in their name. */
export const VSwitchSummary = z.looseObject({
  id: z.int().positive(),
  name: z.string(),
  vlan: z.int(),
  cancelled: z.boolean(),
});
export type VSwitchSummary = z.infer<typeof VSwitchSummary>;
export const VSwitchesReply = z.array(VSwitchSummary);

/** `processing` was seen beside the documented `in process`. */
const toMemberStatus = (status: string) => (status === 'ready' || status === 'failed' ? status : 'in process');

/** A vSwitch with its members. */
export const VSwitch = z
  .looseObject({
    ...VSwitchSummary.shape,
    server: listOf(z.looseObject({ server_number: z.int(), status: z.string() })),
  })
  .transform(({ id, name, vlan, cancelled, server }) => ({
    id,
    name,
    vlan,
    cancelled,
    /** `in process` while a member is added or removed: no other change is possible until then. */
    members: server.map(({ server_number, status }) => ({ number: server_number, status: toMemberStatus(status) })),
  }));
export type VSwitch = z.infer<typeof VSwitch>;

/** A failover address. */
export const FailoverReply = wrapped(
  'failover',
  z
    .looseObject({ ip: z.string(), netmask: Text, server_number: z.int(), active_server_ip: Text })
    .transform(({ ip, netmask, server_number, active_server_ip }) => ({
      ip,
      /** Dotted, or an expanded IPv6 mask. */
      netmask,
      /** The server that the address was ordered for. */
      orderedFor: server_number,
      /** Main address, or main IPv6 network, of the server that it is routed to; null: not routed. */
      routedTo: active_server_ip,
    })),
);
export type FailoverAddress = z.infer<typeof FailoverReply>;

/** For answers that are empty or not needed. */
export const EmptyReply = z.unknown().transform((): void => undefined);

/** Parses a reply by `schema`. Throws ROBOT_REPLY_UNKNOWN, which names the call and fields and never values. */
export function parseRobotReply<T>(call: string, text: string, schema: z.ZodType<T>): T {
  let reply: unknown;
  try {
    reply = text.trim() === '' ? undefined : JSON.parse(text);
  } catch {
    // The parser's error quotes the text.
    if (schema !== (EmptyReply as unknown))
      throw new HetznerRobotError('ROBOT_REPLY_UNKNOWN', `${call}: the reply is not JSON.`);
  }
  const result = schema.safeParse(reply);
  if (result.success) return result.data;
  const where = result.error.issues.slice(0, 3).map(describeIssue);
  throw new HetznerRobotError('ROBOT_REPLY_UNKNOWN', `${call}: ${where.join('; ')}.`);
}

/** Zod's messages about types are safe. Those about texts and keys would reveal values. */
function describeIssue({ path, code, message }: z.core.$ZodIssue): string {
  const words = code === 'invalid_type' ? message : `not as expected (${code})`;
  return `${path.join('.') || 'reply'}: ${words}`;
}
