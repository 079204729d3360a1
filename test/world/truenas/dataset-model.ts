import {
  bool,
  integer,
  list,
  type Model,
  nonEmpty,
  notRequired,
  nullable,
  object,
  oneOf,
  optional,
  partial,
  required,
  text,
  union,
  where,
  withDefault,
} from './model.ts';

const levels = (prefix: string, values: readonly number[]) => values.map((value) => `${prefix}-${value}`);
const compressions = [
  ...['ON', 'OFF', 'LZ4', 'GZIP', 'GZIP-1', 'GZIP-9', 'ZSTD', 'ZSTD-FAST', 'ZLE', 'LZJB'],
  ...levels(
    'ZSTD',
    Array.from({ length: 19 }, (_, index) => index + 1),
  ),
  ...levels('ZSTD-FAST', [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 500, 1000]),
];
const checksums = ['ON', 'OFF', 'FLETCHER2', 'FLETCHER4', 'SHA256', 'SHA512', 'SKEIN', 'EDONR', 'BLAKE3'];
const algorithms = ['AES-128-CCM', 'AES-192-CCM', 'AES-256-CCM', 'AES-128-GCM', 'AES-192-GCM', 'AES-256-GCM'];

const orInherit = (...values: string[]): Model => oneOf(...values, 'INHERIT');
const percent: Model = union({ 'constrained-int': integer({ min: 0, max: 100 }), "literal['INHERIT']": orInherit() });
const countOrInherit: Model = union({ int: integer(), "literal['INHERIT']": orInherit() });
const quota: Model = union({ 'constrained-int': integer({ min: 1024 ** 3 }), 'literal[0,None]': oneOf(0, null) });
const atLeast8: Model = nullable(text({ min: 8 }));
const key64: Model = nullable(text({ min: 64, max: 64 }));

/** ZFS component rules: letters, digits, `-_.: ` and no empty part. */
export function isDatasetName(name: unknown): boolean {
  if (typeof name !== 'string' || name.length > 200) return false;
  return name.split('/').every((part) => /^[A-Za-z0-9_.: -]+$/.test(part) && part !== '.' && part !== '..');
}

const datasetName = where(nonEmpty, isDatasetName, 'Please provide a valid dataset name according to ZFS standards');
const userProperty = object(
  { key: required(text({ pattern: '.*:.*' })), value: required(text()) },
  { name: 'PoolDatasetCreateUserProperty' },
);
const userPropertyUpdate = object(
  { key: required(text({ pattern: '.*:.*' })), value: notRequired(text()), remove: notRequired(bool) },
  { name: 'PoolDatasetUpdateUserProperty' },
);
const encryptionOptions = object(
  {
    generate_key: withDefault(bool, false),
    pbkdf2iters: withDefault(integer({ min: 100000 }), 350000),
    algorithm: withDefault(oneOf(...algorithms), 'AES-256-GCM'),
    passphrase: withDefault(atLeast8, null),
    key: withDefault(key64, null),
  },
  { name: 'PoolCreateEncryptionOptions' },
);

const common = {
  name: required(datasetName),
  comments: withDefault(text(), 'INHERIT'),
  sync: withDefault(orInherit('STANDARD', 'ALWAYS', 'DISABLED'), 'INHERIT'),
  snapdev: notRequired(orInherit('HIDDEN', 'VISIBLE')),
  compression: withDefault(orInherit(...compressions), 'INHERIT'),
  exec: withDefault(orInherit('ON', 'OFF'), 'INHERIT'),
  managedby: withDefault(nonEmpty, 'INHERIT'),
  quota_warning: withDefault(percent, 'INHERIT'),
  quota_critical: withDefault(percent, 'INHERIT'),
  refquota_warning: withDefault(percent, 'INHERIT'),
  refquota_critical: withDefault(percent, 'INHERIT'),
  reservation: notRequired(integer()),
  refreservation: notRequired(integer()),
  special_small_block_size: notRequired(countOrInherit),
  copies: withDefault(countOrInherit, 'INHERIT'),
  snapdir: withDefault(orInherit('DISABLED', 'VISIBLE', 'HIDDEN'), 'INHERIT'),
  deduplication: withDefault(orInherit('ON', 'VERIFY', 'OFF'), 'INHERIT'),
  checksum: withDefault(orInherit(...checksums), 'INHERIT'),
  readonly: withDefault(orInherit('ON', 'OFF'), 'INHERIT'),
  share_type: withDefault(oneOf('GENERIC', 'MULTIPROTOCOL', 'NFS', 'SMB', 'APPS'), 'GENERIC'),
  encryption_options: withDefault(encryptionOptions, {
    generate_key: false,
    pbkdf2iters: 350000,
    algorithm: 'AES-256-GCM',
    passphrase: null,
    key: null,
  }),
  encryption: withDefault(bool, false),
  inherit_encryption: withDefault(bool, true),
  user_properties: withDefault(list(userProperty), []),
  create_ancestors: withDefault(bool, false),
};
const filesystem = {
  aclmode: notRequired(orInherit('PASSTHROUGH', 'RESTRICTED', 'DISCARD')),
  acltype: notRequired(orInherit('OFF', 'NFSV4', 'POSIX')),
  atime: notRequired(orInherit('ON', 'OFF')),
  casesensitivity: notRequired(orInherit('SENSITIVE', 'INSENSITIVE')),
  quota: notRequired(quota),
  refquota: notRequired(quota),
  recordsize: notRequired(text()),
};
const volume = {
  force_size: notRequired(bool),
  sparse: notRequired(bool),
  volsize: required(integer()),
  volblocksize: notRequired(oneOf('512', '512B', '1K', '2K', '4K', '8K', '16K', '32K', '64K', '128K')),
};

/** `pool.dataset.create`: a filesystem or a volume; what fits neither is refused by both. */
export const datasetCreate: Model = union({
  PoolDatasetCreateFilesystem: object(
    { ...common, type: withDefault(oneOf('FILESYSTEM'), 'FILESYSTEM'), ...filesystem },
    { name: 'PoolDatasetCreateFilesystem' },
  ),
  PoolDatasetCreateVolume: object(
    { ...common, type: withDefault(oneOf('VOLUME'), 'VOLUME'), ...volume },
    { name: 'PoolDatasetCreateVolume' },
  ),
});

const createOnly = ['name', 'casesensitivity', 'share_type', 'sparse', 'volblocksize', 'encryption'];

/** `pool.dataset.update`: everything that creation does not decide for good. */
export const datasetUpdate: Model = partial(
  object({ ...common, ...volume, ...filesystem, user_properties_update: required(list(userPropertyUpdate)) }),
  [...createOnly, 'encryption_options', 'inherit_encryption'],
  'PoolDatasetUpdate',
);

/** Options of `pool.dataset.delete`. */
export const datasetDelete = object(
  { recursive: withDefault(bool, false), force: withDefault(bool, false) },
  { name: 'PoolDatasetDeleteOptions' },
);

const unlockItem = object({
  force: withDefault(bool, false),
  name: required(nonEmpty),
  key: optional(key64),
  passphrase: optional(nonEmpty),
  recursive: withDefault(bool, false),
});

/** Options of `pool.dataset.unlock`. */
export const datasetUnlock = object({
  force: withDefault(bool, false),
  key_file: withDefault(bool, false),
  recursive: withDefault(bool, false),
  toggle_attachments: withDefault(bool, true),
  datasets: withDefault(list(unlockItem), []),
});

/** Options of `pool.dataset.lock`. */
export const datasetLock = object({ force_umount: withDefault(bool, false) });
/** `zfs.resource.destroy`. */
export const zfsResourceDestroy = object({
  path: required(nonEmpty),
  recursive: withDefault(bool, false),
  all_snapshots: withDefault(bool, false),
});

/** `zfs.resource.query`. */
export const zfsResourceQuery = object({
  paths: withDefault(list(text()), []),
  properties: withDefault(nullable(list(text())), []),
  get_user_properties: withDefault(bool, false),
  get_source: withDefault(bool, true),
  nest_results: withDefault(bool, false),
  get_children: withDefault(bool, false),
});
