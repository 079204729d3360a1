import { randomBytes } from 'node:crypto';
import { z } from 'zod';

const tebibyte = 1024 ** 4;

/** Machine types by architecture, as an ordinary server has them. */
const usualGuests = {
  i686: ['pc', 'q35', 'pc-q35-6.2'],
  x86_64: ['pc', 'q35', 'pc-i440fx-7.2', 'pc-q35-6.2', 'pc-q35-7.2'],
};

/** 64 letters and digits, as the middleware makes them. */
function newKey(): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
  return Array.from(randomBytes(64), (byte) => alphabet[byte % alphabet.length]).join('');
}

const Pool = z.strictObject({
  name: z.string().min(1),
  sizeBytes: z
    .int()
    .positive()
    .default(2 * tebibyte),
  /** Its blocks are wide: 128K by default, and at least 32K. */
  draid: z.boolean().default(false),
  /** Bytes that somebody else already takes. */
  usedBytes: z.int().nonnegative().default(0),
  status: z.enum(['ONLINE', 'DEGRADED', 'FAULTED', 'OFFLINE', 'UNAVAIL', 'REMOVED', 'SUSPENDED']).default('ONLINE'),
});
const Link = z.strictObject({
  name: z.string().min(1),
  type: z.enum(['PHYSICAL', 'BRIDGE', 'VLAN', 'LINK_AGGREGATION']).default('BRIDGE'),
  description: z.string().default(''),
  /** With prefix, e.g. `192.0.2.10/24`. */
  address: z.string().nullable().default(null),
  members: z.array(z.string()).default([]),
  mtu: z.int().positive().default(1500),
  up: z.boolean().default(true),
});
const User = z.strictObject({
  name: z.string().min(1),
  /** The text behind the key's number; made up when it is left out. Null: no key. */
  apiKey: z
    .string()
    .regex(/^[A-Za-z0-9]+$/)
    .nullable()
    .default(newKey),
  password: z.string().nullable().default(null),
  roles: z.array(z.string()).default(['FULL_ADMIN']),
  expiresAt: z.coerce.date().nullable().default(null),
  revoked: z.string().nullable().default(null),
  twoFactor: z.boolean().default(false),
});
const Neighbour = z.strictObject({ ip: z.string().min(1), mac: z.string().min(1), interface: z.string().min(1) });
const Dhcp = z.strictObject({
  interface: z.string().min(1),
  prefix: z.int().min(8).max(30).default(24),
  gateway: z.ipv4(),
  reservations: z.record(z.string(), z.ipv4()).default({}),
  range: z.string().optional(),
});
const Dataset = z.strictObject({
  name: z.string().includes('/'),
  /** Given: a zvol of so many bytes. */
  volumeBytes: z.int().positive().optional(),
  userProperties: z.record(z.string(), z.string()).default({}),
  properties: z.record(z.string(), z.string()).default({}),
});
const File = z.strictObject({
  path: z.string().startsWith('/mnt/'),
  content: z.string().default(''),
  /** Octal, e.g. `0644`. */
  mode: z
    .string()
    .regex(/^[0-7]+$/)
    .default('0644'),
});
const Vm = z.strictObject({
  name: z.string().min(1),
  /** Columns of the table beside the defaults. */
  row: z.record(z.string(), z.unknown()).default({}),
  devices: z
    .array(z.strictObject({ order: z.int().nullable().default(null), attributes: z.record(z.string(), z.unknown()) }))
    .default([]),
});

/** What the room begins with. Everything may be left out: then it is a small NAS with one pool, one bridge and root. */
export const TrueNasSeed = z.strictObject({
  hostname: z.string().default('truenas'),
  memoryMiB: z.int().positive().default(65536),
  /** What the cache of ZFS holds of it. */
  arcMiB: z.int().nonnegative().default(0),
  cores: z.int().positive().default(16),
  /** What guests can be: machine types by architecture. */
  guests: z.record(z.string(), z.array(z.string())).default(usualGuests),
  /** Hardware virtualization. */
  kvm: z.boolean().default(true),
  /** Real seconds after which a silent connection is dropped; default: what the release's web server does. */
  idleSeconds: z.number().positive().optional(),
  /** Real milliseconds that each call of a method takes, by name; `*`: those not named. A job takes them in its course. */
  latencies: z.record(z.string(), z.number().nonnegative()).default({}),
  pools: z.array(Pool).default([Pool.parse({ name: 'tank' })]),
  bridges: z.array(z.string()).default(['br0']),
  interfaces: z.array(Link).default([Link.parse({ name: 'eno1', type: 'PHYSICAL', address: '192.0.2.10/24' })]),
  /** Addresses of the active controller, when this one stands by: every login is answered with REDIRECT. */
  activeController: z.array(z.string()).default([]),
  /** Addresses and networks (`192.0.2.0/24`) that may use the WebSocket; none: everybody. */
  allowed: z.array(z.string()).default([]),
  users: z.array(User).default(() => [User.parse({ name: 'root' })]),
  /** Whom the NAS itself has met on its networks. Guests that hang at an interface that is no bridge are never among them. */
  neighbours: z.array(Neighbour).default([]),
  /** DHCP servers of the networks behind interfaces. */
  dhcp: z.array(Dhcp).default([]),
  datasets: z.array(Dataset).default([]),
  files: z.array(File).default([]),
  vms: z.array(Vm).default([]),
});
export type TrueNasSeed = z.infer<typeof TrueNasSeed>;
