import { z } from 'zod';
import { ProviderError } from '../../../lib/errors.ts';
import { SecretString } from '../../../lib/secret-string.ts';

/**
 * The answers that we read, in words of our own. Other fields pass; what has another shape than any that is documented or
 * was seen is refused.
 */

/** A number, written as one or as text: masks come as both. */
const Count = z.union([z.int(), z.string().regex(/^\d+$/).transform(Number)]);
/** Absent, null and empty say the same. */
const Text = z
  .string()
  .nullish()
  .transform((text) => text || undefined);
const listOf = <T extends z.ZodType>(item: T) =>
  z
    .array(item)
    .nullish()
    .transform((list) => list ?? []);
/** Most objects are wrapped in their own name. */
const wrapped = <K extends string, T extends z.ZodType>(name: K, inner: T) =>
  z
    .looseObject({ [name]: inner } as Record<K, T>)
    .transform((outer) => (outer as Record<string, unknown>)[name] as z.infer<T>);

/** A server of the account, of `/server` and `/server/{n}`. */
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
    subnet: listOf(z.looseObject({ ip: z.string(), mask: Count })),
  })
  .transform((server) => ({
    number: server.server_number,
    /** Free text; empty when nobody gave it a name. */
    name: server.server_name ?? '',
    /** Main IPv4; none where the server was ordered without. */
    address: server.server_ip,
    /** Network address of the main /64, without a length: `2001:db8:7a:11c::`. */
    ipv6Net: server.server_ipv6_net,
    product: server.product ?? '',
    dc: server.dc ?? '',
    /** `in process` while it is being set up, and for whatever else is not ready. */
    status: server.status === 'ready' ? ('ready' as const) : ('in process' as const),
    /** Somebody gave notice for it. */
    cancelled: server.cancelled,
    /** `2031-05-14`. */
    paidUntil: server.paid_until,
    addresses: server.ip,
    subnets: server.subnet.map(({ ip, mask }) => ({ ip, prefix: mask })),
  }));
export type RobotServer = z.infer<typeof RobotServer>;
export const ServerReply = wrapped('server', RobotServer);
export const ServersReply = z.array(ServerReply);

/** A key as it stands inside a boot configuration; `host_key` was never seen with anything in it. */
const keyFingerprint = z
  .looseObject({ key: z.looseObject({ fingerprint: z.string() }) })
  .transform(({ key }) => key.fingerprint.toLowerCase());

/** What can be booted while it is inactive, what will be while it is active: an array, then a scalar. */
const choices = <T extends z.ZodType>(item: T) =>
  z
    .union([z.array(item), item])
    .nullish()
    .transform((value) => (value === null || value === undefined ? [] : [value].flat()) as z.infer<T>[]);

/** The rescue system of a server, of `/boot/{n}/rescue`. */
export const RescueBoot = z
  .looseObject({
    server_number: z.int().optional(),
    active: z.boolean(),
    os: choices(z.string()),
    // Deprecated, and missing in newer answers.
    arch: choices(Count),
    password: z.string().nullish(),
    authorized_key: listOf(keyFingerprint),
    host_key: listOf(z.unknown()),
    boot_time: z.unknown(),
  })
  .transform((rescue) => ({
    number: rescue.server_number,
    /** Armed for the next network boot. It is used up minutes before SSH answers. */
    active: rescue.active,
    /** Those to choose from, or the one chosen. */
    systems: rescue.os,
    architectures: rescue.arch,
    /** Of root; there may be none where keys were given. */
    password: rescue.password ? new SecretString(rescue.password) : undefined,
    /** Keys that will be let in: MD5, lower case, with colons. */
    fingerprints: rescue.authorized_key,
  }));
export type RescueBoot = z.infer<typeof RescueBoot>;
export const RescueReply = wrapped('rescue', RescueBoot);

/** All boot configurations of a server, of `/boot/{n}`. Those that it does not offer are null or missing. */
export const BootReply = wrapped(
  'boot',
  z
    .looseObject({ rescue: RescueBoot.nullish() })
    .catchall(z.looseObject({ active: z.boolean(), server_number: z.int().optional() }).nullish()),
).transform(({ rescue, ...others }) => {
  const installers = Object.entries(others).filter(([, section]) => section?.active === true);
  return {
    number: rescue?.number ?? Object.values(others).find((section) => section?.server_number)?.server_number,
    /** None where the product does not offer it. */
    rescue: rescue ?? undefined,
    /** `linux`, `vnc`, `windows`…: each of them erases the server at its next boot. */
    armedInstallers: installers.map(([name]) => name),
  };
});
export type BootConfigs = z.infer<typeof BootReply>;

/** How a server can be reset, of `/reset/{n}`. */
export const ResetReply = wrapped(
  'reset',
  z
    .looseObject({
      // Missing in the printed answer to a reset.
      server_number: z.int().optional(),
      type: choices(z.string()),
      operating_status: Text,
    })
    .transform(({ server_number, type, operating_status }) => ({
      number: server_number,
      /** `sw`, `hw`, `power`, `power_long`, `man`, or whatever else there is. */
      types: type,
      power: powerOf(operating_status),
    })),
);
export type ResetInfo = z.infer<typeof ResetReply>;

function powerOf(status: string | undefined): 'on' | 'off' | undefined {
  if (status === 'running') return 'on';
  return status === 'shut off' ? 'off' : undefined;
}

/** `2030-11-02 09:15:41`, in time zone unknown and read as UTC, or ISO 8601: clients have seen both. */
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
      /** Public; its comment may be lost. */
      data,
      createdAt: created_at,
    })),
);
export type SshKey = z.infer<typeof KeyReply>;
export const KeysReply = z.array(KeyReply);

/** A single address with its way out, of `/ip/{ip}`. */
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

/** A subnet of a server. */
const RobotSubnet = z
  .looseObject({ ip: z.string(), mask: Count, gateway: z.string(), server_number: z.int(), failover: z.boolean() })
  .transform(({ ip, mask, gateway, server_number, failover }) => ({
    ip,
    prefix: mask,
    gateway,
    number: server_number,
    /** It can be switched to other servers. */
    failover,
  }));
export type RobotSubnet = z.infer<typeof RobotSubnet>;
export const SubnetsReply = z.array(wrapped('subnet', RobotSubnet));

/** A vSwitch in a list. These objects are naked. */
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
    /** `in process` while a member comes or goes: until then nothing else can be changed. */
    members: server.map(({ server_number, status }) => ({ number: server_number, status: toMemberStatus(status) })),
  }));
export type VSwitch = z.infer<typeof VSwitch>;

/** An address that is switched between servers. */
export const FailoverReply = wrapped(
  'failover',
  z
    .looseObject({ ip: z.string(), netmask: Text, server_number: z.int(), active_server_ip: Text })
    .transform(({ ip, netmask, server_number, active_server_ip }) => ({
      ip,
      /** Dotted, or an expanded IPv6 mask. */
      netmask,
      /** The server that it was ordered for. */
      orderedFor: server_number,
      /** Main address, or main IPv6 network, of the server that it is routed to; none: to nobody. */
      routedTo: active_server_ip,
    })),
);
export type FailoverAddress = z.infer<typeof FailoverReply>;

/** Where nothing is said, or nothing that we need. */
export const EmptyReply = z.unknown().transform((): void => undefined);

/** The reply as `schema` has it. Throws ROBOT_REPLY_UNKNOWN, which names the call and fields and never values. */
export function parseRobotReply<T>(call: string, text: string, schema: z.ZodType<T>): T {
  let reply: unknown;
  try {
    reply = text.trim() === '' ? undefined : JSON.parse(text);
  } catch {
    // The parser's error quotes the text.
    if (schema !== (EmptyReply as unknown))
      throw new ProviderError('ROBOT_REPLY_UNKNOWN', `${call}: the reply is not JSON.`);
  }
  const result = schema.safeParse(reply);
  if (result.success) return result.data;
  const where = result.error.issues.slice(0, 3).map(describeIssue);
  throw new ProviderError('ROBOT_REPLY_UNKNOWN', `${call}: ${where.join('; ')}.`);
}

/** Zod's own sentences tell types; those about texts and keys would tell what was there. */
function describeIssue({ path, code, message }: z.core.$ZodIssue): string {
  const words = code === 'invalid_type' ? message : `not as expected (${code})`;
  return `${path.join('.') || 'reply'}: ${words}`;
}
