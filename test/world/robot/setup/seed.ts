import { randomInt } from 'node:crypto';
import { z } from 'zod';
import { bootConfigKinds, resetTypes } from '../state.ts';
import { BoardSeed, DiskSeed, FirmwareSeed, NicSeed } from './hardware-seed.ts';

/** Durations in simulated seconds. */
export const Delays = z.strictObject({
  /** Power-on self test. */
  postSeconds: z.number().nonnegative().default(45),
  /** A network boot until its answer: then rescue counts as used, or the next entry is tried. */
  networkSeconds: z.number().nonnegative().default(15),
  /** From there to a rescue system that answers. */
  imageSeconds: z.number().nonnegative().default(100),
  /** An armed configuration expires after this time without a restart (Hetzner docs: Rescue System). */
  lapseSeconds: z.number().nonnegative().default(3600),
  /** Boot of a Linux on a disk until it answers. */
  linuxSeconds: z.number().nonnegative().default(30),
  /** A system continues to answer during its shutdown. */
  shutdownSeconds: z.number().nonnegative().default(5),
  vswitchSeconds: z.number().nonnegative().default(30),
  failoverSeconds: z.number().nonnegative().default(50),
});
export type Delays = z.infer<typeof Delays>;

/** Choices for tests where the documentation is silent or contradicts observations. */
export const RobotBehaviour = z.strictObject({
  /** Name of the field: the first is documented, the other was seen. */
  rateLimitField: z.enum(['max_request', 'max_requests']).default('max_request'),
  /** The response for a locked-out address. */
  blocked: z.enum(['unauthorized', 'forbidden', 'drop']).default('unauthorized'),
  /** POST on a boot configuration while one is armed: 409 BOOT_ALREADY_ENABLED, or the new one replaces it. */
  armingWhileArmed: z.enum(['refuse', 'replace']).default('refuse'),
  /** Rescue has a password also when keys were given. */
  passwordBesideKeys: z.boolean().default(true),
  /** Answers contain the deprecated `arch`. */
  sendsArch: z.boolean().default(true),
  /**
   * The status of a vSwitch member that is being added or removed: the first is documented, the other was also seen.
   */
  inProcess: z.enum(['in process', 'processing']).default('in process'),
  mostVSwitches: z.int().positive().default(100),
});
export type RobotBehaviour = z.infer<typeof RobotBehaviour>;

const ServerSeed = z.strictObject({
  number: z.int().positive(),
  /** Webservice user of its account; default: the first one. */
  account: z.string().optional(),
  name: z.string().default(''),
  product: z.string().default('AX42'),
  dc: z.string().default('FSN1-DC18'),
  status: z.enum(['ready', 'in process']).default('ready'),
  cancelled: z.boolean().default(false),
  paidUntil: z.iso.date().default('2031-05-14'),
  /** Main IPv4; null: ordered without. Default: the next one of `network`. */
  address: z.ipv4().nullable().optional(),
  gateway: z.ipv4().optional(),
  prefix: z.int().min(8).max(32).default(26),
  /** Network address of its /64. */
  ipv6Net: z.string().endsWith('::').optional(),
  /** Single addresses besides the main one. */
  extraIps: z.array(z.ipv4()).default([]),
  offers: z.array(z.enum(bootConfigKinds)).default(['rescue', 'linux', 'vnc']),
  resets: z.array(z.enum(resetTypes)).default(['power', 'power_long', 'hw', 'man']),
  tellsOperatingStatus: z.boolean().default(true),
  power: z.enum(['on', 'off']).default('on'),
  cpu: z
    .strictObject({ model: z.string(), threads: z.int().positive() })
    .default({ model: 'AMD Ryzen 7 PRO 8700GE w/ Radeon 780M Graphics', threads: 16 }),
  memoryMiB: z.int().positive().default(65536),
  nics: z
    .array(NicSeed)
    .min(1)
    .default([NicSeed.parse({})]),
  disks: z.array(DiskSeed).default([DiskSeed.parse({}), DiskSeed.parse({})]),
  firmware: FirmwareSeed.prefault({}),
  board: BoardSeed.prefault({}),
});
export type ServerSeed = z.infer<typeof ServerSeed>;

const newPassword = (): string =>
  Array.from({ length: 16 }, () => 'abcdefghjkmnpqrstuvwxyzABCDEFGHJKMNPQRSTUVWXYZ23456789'[randomInt(54)]).join('');

const AccountSeed = z.strictObject({
  /** Includes the `#`. */
  user: z
    .string()
    .regex(/^[^:]+$/)
    .default('#ws+Wr1dRbt7'),
  password: z.string().min(1).default(newPassword),
  keys: z.array(z.strictObject({ name: z.string(), data: z.string() })).default([]),
  vswitches: z
    .array(
      z.strictObject({
        name: z.string(),
        vlan: z.int().min(4000).max(4091),
        /** Server numbers. */
        servers: z.array(z.int()).default([]),
      }),
    )
    .default([]),
  failovers: z
    .array(
      z.strictObject({
        ip: z.string(),
        netmask: z.string().default('255.255.255.255'),
        /** Number of the server of the order. */
        server: z.int(),
        /** Number of the server it is routed to, or null; default: the same. */
        active: z.int().nullable().optional(),
      }),
    )
    .default([]),
});
export type AccountSeed = z.infer<typeof AccountSeed>;

/** Three unused servers, and one with an installed Linux and a Ceph disk. */
const defaultServers = (): ServerSeed[] => [
  ...[3140011, 3140012, 3140013].map((number) => ServerSeed.parse({ number })),
  ServerSeed.parse({
    number: 3140014,
    name: 'files',
    product: 'EX44',
    disks: [
      { content: { kind: 'linux', hostname: 'files', answersSsh: true } },
      { bus: 'sata', sizeBytes: 4_000_787_030_016, rotational: true, content: { kind: 'ceph' } },
    ],
  }),
];

/** The initial state of the simulator. Every field is optional: the default is one account with four servers. */
export const RobotSeed = z.strictObject({
  /** The first three octets of the default addresses of servers. */
  network: z
    .string()
    .regex(/^\d+\.\d+\.\d+$/)
    .default('127.42.60'),
  accounts: z
    .array(AccountSeed)
    .min(1)
    .default(() => [AccountSeed.parse({})]),
  servers: z.array(ServerSeed).default(defaultServers),
  delays: Delays.prefault({}),
  behaviour: RobotBehaviour.prefault({}),
  /** Hourly request limits that differ from the documented ones, e.g. `POST /reset: 5`. */
  limits: z.record(z.string(), z.int().nonnegative()).default({}),
});
export type RobotSeed = z.infer<typeof RobotSeed>;
