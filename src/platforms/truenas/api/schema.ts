import { z } from 'zod';
import { SecretString } from '../../../lib/secret-string.ts';
import { TrueNasError } from '../error-codes.ts';

/**
 * The fields of replies that are in use; all others pass. Names and units are those of TrueNAS (middleware:
 * api/v25_10_0).
 */

/** `auth.login_ex`. Every answer is a successful call; few of them are a login. */
export const LoginReply = z.looseObject({
  response_type: z.string(),
  /** SCRAM: which of the server's two messages it is, and the message itself. */
  scram_type: z.string().nullish(),
  rfc_str: z.string().optional(),
  user_info: z
    .looseObject({
      privilege: z.looseObject({ roles: z.unknown().optional() }).nullish(),
    })
    .nullish(),
});
export type LoginReply = z.infer<typeof LoginReply>;

/** An entry of `core.get_jobs`. */
export const TrueNasJob = z.looseObject({
  id: z.int(),
  method: z.string(),
  arguments: z.array(z.unknown()).nullish(),
  state: z.string(),
  error: z.string().nullish(),
  progress: z.looseObject({ percent: z.number().nullish() }).nullish(),
  result: z.unknown().optional(),
});
export type TrueNasJob = z.infer<typeof TrueNasJob>;

/** An event of a subscription. */
export const CollectionUpdate = z.looseObject({
  /** `added`, `changed` or `removed`. */
  msg: z.string(),
  collection: z.string(),
  id: z.unknown().optional(),
  fields: z.unknown().optional(),
});

/** Sent when the system ends a subscription. */
export const Unsubscription = z.looseObject({ collection: z.string(), error: z.unknown().optional() });

const ZfsProperty = z.object({
  value: z.string().nullish(),
  rawvalue: z.string().nullish(),
  source: z.string().nullish(),
});

/** A descendant of a dataset, at any depth. */
export interface ChildDataset {
  readonly id: string;
  readonly children?: readonly ChildDataset[] | null | undefined;
}
const ChildDatasetEntry: z.ZodType<ChildDataset> = z.looseObject({
  id: z.string(),
  get children() {
    return z.array(ChildDatasetEntry).nullish();
  },
});

/** An entry of `pool.dataset.query`: a filesystem or a zvol. */
export const Dataset = z.object({
  id: z.string(),
  type: z.string(),
  locked: z.boolean().nullish(),
  /** The dataset whose key unlocks it: itself or an ancestor. */
  encryption_root: z.string().nullish(),
  mountpoint: z.string().nullish(),
  comments: ZfsProperty.nullish(),
  /** Bytes, quotas included. */
  available: ZfsProperty.nullish(),
  /** Size of a zvol in bytes. */
  volsize: ZfsProperty.nullish(),
  user_properties: z.record(z.string(), ZfsProperty).nullish(),
  children: z.array(ChildDatasetEntry).nullish(),
});
export type Dataset = z.infer<typeof Dataset>;

/** The result of a `pool.dataset.unlock` job. */
export const UnlockResult = z.looseObject({
  failed: z.record(z.string(), z.looseObject({ error: z.string().nullish() })),
});

/** An entry of `pool.query`. */
export const Pool = z.object({
  name: z.string(),
  /** ZFS assigns it at creation. It survives renames and imports. */
  guid: z.string().nullish(),
  status: z.string(),
  healthy: z.boolean(),
});
export type Pool = z.infer<typeof Pool>;

/** True when a pool can be read and written, also with reduced redundancy. */
export const isPoolWorking = ({ status }: Pick<Pool, 'status'>): boolean => ['ONLINE', 'DEGRADED'].includes(status);

const Aliases = z.array(z.looseObject({ address: z.string() })).nullish();

/** An entry of `interface.query`: configured addresses and current ones, e.g. from DHCP. */
export const NetworkInterface = z.looseObject({
  name: z.string(),
  aliases: Aliases,
  state: z.looseObject({ aliases: Aliases, mtu: z.int().nullish() }).nullish(),
});

/** A device of a VM. */
export const VmDevice = z.object({
  id: z.int(),
  vm: z.int().nullish(),
  order: z.int().nullish(),
  attributes: z.looseObject({
    dtype: z.string(),
    path: z.string().nullish(),
    type: z.string().nullish(),
    mac: z.string().nullish(),
    nic_attach: z.string().nullish(),
  }),
});
export type VmDevice = z.infer<typeof VmDevice>;

/** An entry of `vm.query`, and the answer of `vm.create`. */
export const Vm = z.object({
  id: z.int(),
  name: z.string(),
  description: z.string().nullish(),
  uuid: z.string().nullish(),
  vcpus: z.int(),
  cores: z.int(),
  threads: z.int(),
  memory: z.int(),
  cpu_mode: z.string().nullish(),
  /** Only in the mode CUSTOM. */
  cpu_model: z.string().nullish(),
  suspend_on_snapshot: z.boolean().nullish(),
  devices: z.array(VmDevice).default([]),
  /** `pid` of QEMU while it runs. */
  status: z.object({ state: z.string(), pid: z.int().nullish() }),
});
export type Vm = z.infer<typeof Vm>;

/** `filesystem.stat`. Times are seconds since 1970. */
export const FileStat = z.looseObject({
  type: z.string(),
  size: z.number(),
  mtime: z.number(),
  /** Time of the last change of content or metadata, which cannot be set. */
  ctime: z.number().nullish(),
  inode: z.number().nullish(),
});
export type FileStat = z.infer<typeof FileStat>;

/** An entry of `filesystem.listdir`. */
export const FolderEntry = z.looseObject({ name: z.string(), path: z.string(), type: z.string(), size: z.number() });
export type FolderEntry = z.infer<typeof FolderEntry>;

/** `auth.generate_token`. */
export const UploadToken = z
  .string()
  .min(1)
  .transform((token) => new SecretString(token));

/** `core.download`: the id of the job, and the URL path of the file, with a token for one use. */
export const DownloadTicket = z.tuple([z.int(), z.string().regex(/^\/_download\/\d+\?/)]);

/** `vm.virtualization_details`. */
export const Virtualization = z.looseObject({ supported: z.boolean(), error: z.string().nullish() });

/**
 * `vm.device.nic_attach_choices`: `{ br0: "br0" }` up to 25.10, where names that begin with br are bridges;
 * `{ BRIDGE: ["br0"], MACVLAN: [] }` from 26 on, there also through older endpoints.
 */
export const NicChoices = z
  .record(z.string(), z.union([z.string(), z.array(z.string())]))
  .transform((choices) =>
    Object.entries(choices).flatMap(([name, value]) =>
      Array.isArray(value)
        ? value.map((one) => ({ name: one, isBridge: name === 'BRIDGE' }))
        : [{ name, isBridge: name.startsWith('br') }],
    ),
  );

/** Parses a reply by `schema`. Throws TRUENAS_REPLY_UNKNOWN, which names fields and never values. */
export function parseTrueNasReply<T>(method: string, reply: unknown, schema: z.ZodType<T>): T {
  const result = schema.safeParse(reply);
  if (result.success) return result.data;
  const where = result.error.issues.slice(0, 3).map((issue) => `${issue.path.join('.') || 'reply'}: ${issue.message}`);
  throw new TrueNasError('TRUENAS_REPLY_UNKNOWN', `${method}: ${where.join('; ')}.`, { cause: result.error });
}
