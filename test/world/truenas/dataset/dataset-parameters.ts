import {
  booleanModel,
  defaultedField,
  integerModel,
  listModel,
  literalModel,
  nonEmptyTextModel,
  notRequiredField,
  nullableModel,
  objectModel,
  optionalField,
  type ParameterModel,
  partialModel,
  refinedModel,
  requiredField,
  textModel,
  unionModel,
} from '../middleware/parameter-model.ts';

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

const orInherit = (...values: string[]): ParameterModel => literalModel(...values, 'INHERIT');
const percent: ParameterModel = unionModel({
  'constrained-int': integerModel({ min: 0, max: 100 }),
  "literal['INHERIT']": orInherit(),
});
const countOrInherit: ParameterModel = unionModel({ int: integerModel(), "literal['INHERIT']": orInherit() });
const quota: ParameterModel = unionModel({
  'constrained-int': integerModel({ min: 1024 ** 3 }),
  'literal[0,None]': literalModel(0, null),
});
const atLeast8: ParameterModel = nullableModel(textModel({ min: 8 }));
const key64: ParameterModel = nullableModel(textModel({ min: 64, max: 64 }));

/** ZFS component rules: letters, digits, `-_.: ` and no empty component. */
export function isDatasetName(name: unknown): boolean {
  if (typeof name !== 'string' || name.length > 200) return false;
  return name.split('/').every((part) => /^[A-Za-z0-9_.: -]+$/.test(part) && part !== '.' && part !== '..');
}

const datasetName = refinedModel(
  nonEmptyTextModel,
  isDatasetName,
  'Please provide a valid dataset name according to ZFS standards',
);
const userProperty = objectModel(
  { key: requiredField(textModel({ pattern: '.*:.*' })), value: requiredField(textModel()) },
  { name: 'PoolDatasetCreateUserProperty' },
);
const userPropertyUpdate = objectModel(
  {
    key: requiredField(textModel({ pattern: '.*:.*' })),
    value: notRequiredField(textModel()),
    remove: notRequiredField(booleanModel),
  },
  { name: 'PoolDatasetUpdateUserProperty' },
);
const encryptionOptions = objectModel(
  {
    generate_key: defaultedField(booleanModel, false),
    pbkdf2iters: defaultedField(integerModel({ min: 100000 }), 350000),
    algorithm: defaultedField(literalModel(...algorithms), 'AES-256-GCM'),
    passphrase: defaultedField(atLeast8, null),
    key: defaultedField(key64, null),
  },
  { name: 'PoolCreateEncryptionOptions' },
);

const common = {
  name: requiredField(datasetName),
  comments: defaultedField(textModel(), 'INHERIT'),
  sync: defaultedField(orInherit('STANDARD', 'ALWAYS', 'DISABLED'), 'INHERIT'),
  snapdev: notRequiredField(orInherit('HIDDEN', 'VISIBLE')),
  compression: defaultedField(orInherit(...compressions), 'INHERIT'),
  exec: defaultedField(orInherit('ON', 'OFF'), 'INHERIT'),
  managedby: defaultedField(nonEmptyTextModel, 'INHERIT'),
  quota_warning: defaultedField(percent, 'INHERIT'),
  quota_critical: defaultedField(percent, 'INHERIT'),
  refquota_warning: defaultedField(percent, 'INHERIT'),
  refquota_critical: defaultedField(percent, 'INHERIT'),
  reservation: notRequiredField(integerModel()),
  refreservation: notRequiredField(integerModel()),
  special_small_block_size: notRequiredField(countOrInherit),
  copies: defaultedField(countOrInherit, 'INHERIT'),
  snapdir: defaultedField(orInherit('DISABLED', 'VISIBLE', 'HIDDEN'), 'INHERIT'),
  deduplication: defaultedField(orInherit('ON', 'VERIFY', 'OFF'), 'INHERIT'),
  checksum: defaultedField(orInherit(...checksums), 'INHERIT'),
  readonly: defaultedField(orInherit('ON', 'OFF'), 'INHERIT'),
  share_type: defaultedField(literalModel('GENERIC', 'MULTIPROTOCOL', 'NFS', 'SMB', 'APPS'), 'GENERIC'),
  encryption_options: defaultedField(encryptionOptions, {
    generate_key: false,
    pbkdf2iters: 350000,
    algorithm: 'AES-256-GCM',
    passphrase: null,
    key: null,
  }),
  encryption: defaultedField(booleanModel, false),
  inherit_encryption: defaultedField(booleanModel, true),
  user_properties: defaultedField(listModel(userProperty), []),
  create_ancestors: defaultedField(booleanModel, false),
};
const filesystem = {
  aclmode: notRequiredField(orInherit('PASSTHROUGH', 'RESTRICTED', 'DISCARD')),
  acltype: notRequiredField(orInherit('OFF', 'NFSV4', 'POSIX')),
  atime: notRequiredField(orInherit('ON', 'OFF')),
  casesensitivity: notRequiredField(orInherit('SENSITIVE', 'INSENSITIVE')),
  quota: notRequiredField(quota),
  refquota: notRequiredField(quota),
  recordsize: notRequiredField(textModel()),
};
const volume = {
  force_size: notRequiredField(booleanModel),
  sparse: notRequiredField(booleanModel),
  volsize: requiredField(integerModel()),
  volblocksize: notRequiredField(literalModel('512', '512B', '1K', '2K', '4K', '8K', '16K', '32K', '64K', '128K')),
};

/** `pool.dataset.create`: a filesystem or a volume. Arguments that fit neither get the errors of both. */
export const datasetCreateModel: ParameterModel = unionModel({
  PoolDatasetCreateFilesystem: objectModel(
    { ...common, type: defaultedField(literalModel('FILESYSTEM'), 'FILESYSTEM'), ...filesystem },
    { name: 'PoolDatasetCreateFilesystem' },
  ),
  PoolDatasetCreateVolume: objectModel(
    { ...common, type: defaultedField(literalModel('VOLUME'), 'VOLUME'), ...volume },
    { name: 'PoolDatasetCreateVolume' },
  ),
});

const createOnly = ['name', 'casesensitivity', 'share_type', 'sparse', 'volblocksize', 'encryption'];

/** `pool.dataset.update`: every property that is not fixed at creation. */
export const datasetUpdateModel: ParameterModel = partialModel(
  objectModel({
    ...common,
    ...volume,
    ...filesystem,
    user_properties_update: requiredField(listModel(userPropertyUpdate)),
  }),
  [...createOnly, 'encryption_options', 'inherit_encryption'],
  'PoolDatasetUpdate',
);

/** Options of `pool.dataset.delete`. */
export const datasetDeleteModel = objectModel(
  { recursive: defaultedField(booleanModel, false), force: defaultedField(booleanModel, false) },
  { name: 'PoolDatasetDeleteOptions' },
);

const unlockItem = objectModel({
  force: defaultedField(booleanModel, false),
  name: requiredField(nonEmptyTextModel),
  key: optionalField(key64),
  passphrase: optionalField(nonEmptyTextModel),
  recursive: defaultedField(booleanModel, false),
});

/** Options of `pool.dataset.unlock`. */
export const datasetUnlockModel = objectModel({
  force: defaultedField(booleanModel, false),
  key_file: defaultedField(booleanModel, false),
  recursive: defaultedField(booleanModel, false),
  toggle_attachments: defaultedField(booleanModel, true),
  datasets: defaultedField(listModel(unlockItem), []),
});

/** Options of `pool.dataset.lock`. */
export const datasetLockModel = objectModel({ force_umount: defaultedField(booleanModel, false) });
/** `zfs.resource.destroy`. */
export const zfsResourceDestroyModel = objectModel({
  path: requiredField(nonEmptyTextModel),
  recursive: defaultedField(booleanModel, false),
  all_snapshots: defaultedField(booleanModel, false),
});

/** `zfs.resource.query`. */
export const zfsResourceQueryModel = objectModel({
  paths: defaultedField(listModel(textModel()), []),
  properties: defaultedField(nullableModel(listModel(textModel())), []),
  get_user_properties: defaultedField(booleanModel, false),
  get_source: defaultedField(booleanModel, true),
  nest_results: defaultedField(booleanModel, false),
  get_children: defaultedField(booleanModel, false),
});
