import { z } from 'zod';
import { ProviderError } from '../../../lib/errors.ts';
import { SecretString } from '../../../lib/secret-string.ts';

/**
 * The fields of replies that we read; everything else passes. Names and units are those of TrueNAS
 * (middleware: api/v25_10_0).
 */

/** `auth.login_ex`. Every answer is a successful call; few of them let in. */
export const LoginReply = z.looseObject({
  response_type: z.string(),
  /** Of SCRAM: which of the server's two messages it is, and the message itself. */
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

/** What a subscription sends. */
export const CollectionUpdate = z.looseObject({
  /** `added`, `changed` or `removed`. */
  msg: z.string(),
  collection: z.string(),
  id: z.unknown().optional(),
  fields: z.unknown().optional(),
});

const ZfsProperty = z.object({
  value: z.string().nullish(),
  rawvalue: z.string().nullish(),
  source: z.string().nullish(),
});

/** What lies below a dataset, however deep. */
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
  /** The dataset with whose key it opens: itself, or one above it. */
  encryption_root: z.string().nullish(),
  mountpoint: z.string().nullish(),
  comments: ZfsProperty.nullish(),
  /** Bytes, quotas reckoned. */
  available: ZfsProperty.nullish(),
  /** Of a zvol, in bytes. */
  volsize: ZfsProperty.nullish(),
  user_properties: z.record(z.string(), ZfsProperty).nullish(),
  children: z.array(ChildDatasetEntry).nullish(),
});
export type Dataset = z.infer<typeof Dataset>;

/** What the job of `pool.dataset.unlock` ends with. */
export const UnlockResult = z.looseObject({
  failed: z.record(z.string(), z.looseObject({ error: z.string().nullish() })),
});

/** An entry of `pool.query`. */
export const Pool = z.object({
  name: z.string(),
  /** Given by ZFS when the pool was made, and kept for good, whatever it is called and wherever it is imported. */
  guid: z.string().nullish(),
  status: z.string(),
  healthy: z.boolean(),
});
export type Pool = z.infer<typeof Pool>;

/** Whether a pool can be read and written, if perhaps with less redundancy than it should have. */
export const isPoolWorking = ({ status }: Pick<Pool, 'status'>): boolean => ['ONLINE', 'DEGRADED'].includes(status);

const Aliases = z.array(z.looseObject({ address: z.string() })).nullish();

/** An entry of `interface.query`: addresses as they were configured, and as they are, say by DHCP. */
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

/** An entry of `vm.query`, and what `vm.create` answers. */
export const Vm = z.object({
  id: z.int(),
  name: z.string(),
  description: z.string().nullish(),
  uuid: z.string().nullish(),
  vcpus: z.int(),
  cores: z.int(),
  threads: z.int(),
  memory: z.int(),
  suspend_on_snapshot: z.boolean().nullish(),
  devices: z.array(VmDevice).default([]),
  /** `pid` of QEMU, while there is one. */
  status: z.object({ state: z.string(), pid: z.int().nullish() }),
});
export type Vm = z.infer<typeof Vm>;

/** `filesystem.stat`. Times are seconds since 1970. */
export const FileStat = z.looseObject({
  type: z.string(),
  size: z.number(),
  mtime: z.number(),
  /** When it was written to, moved or given another date: nobody can choose it. */
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

/** `core.download`: the number of the job, and where on the system's host it can be read, with a token for once. */
export const DownloadTicket = z.tuple([z.int(), z.string().regex(/^\/_download\/\d+\?/)]);

/** `vm.virtualization_details`. */
export const Virtualization = z.looseObject({ supported: z.boolean(), error: z.string().nullish() });

/**
 * `vm.device.nic_attach_choices`: `{ br0: "br0" }` up to 25.10, where what begins with br is a bridge and all else is not;
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

/** The reply as `schema` has it. Throws TRUENAS_REPLY_UNKNOWN, which names fields and never values. */
export function parseTrueNasReply<T>(method: string, reply: unknown, schema: z.ZodType<T>): T {
  const result = schema.safeParse(reply);
  if (result.success) return result.data;
  const where = result.error.issues.slice(0, 3).map((issue) => `${issue.path.join('.') || 'reply'}: ${issue.message}`);
  throw new ProviderError('TRUENAS_REPLY_UNKNOWN', `${method}: ${where.join('; ')}.`, { cause: result.error });
}
