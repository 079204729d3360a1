import {
  booleanModel,
  defaultedField,
  integerModel,
  listModel,
  literalModel,
  nonEmptyTextModel,
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

const algorithms = ['AES-128-CCM', 'AES-192-CCM', 'AES-256-CCM', 'AES-128-GCM', 'AES-192-GCM', 'AES-256-GCM'];
const quota: ParameterModel = unionModel({
  'constrained-int': integerModel({ min: 1024 ** 3 }),
  'literal[0,None]': literalModel(0, null),
});
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
const propertyKey = requiredField(textModel({ pattern: '.*:.*' }));
const userProperty = objectModel({ key: propertyKey, value: requiredField(textModel()) });
const userPropertyUpdate = objectModel({
  key: propertyKey,
  value: optionalField(textModel()),
  remove: optionalField(booleanModel),
});
const encryptionOptions = objectModel({
  generate_key: defaultedField(booleanModel, false),
  pbkdf2iters: defaultedField(integerModel({ min: 100000 }), 350000),
  algorithm: defaultedField(literalModel(...algorithms), 'AES-256-GCM'),
  passphrase: defaultedField(nullableModel(textModel({ min: 8 })), null),
  key: defaultedField(key64, null),
});

/** The simulated part of the many properties; others are refused as unknown keys. */
const common = {
  name: requiredField(datasetName),
  comments: defaultedField(textModel(), 'INHERIT'),
  readonly: defaultedField(literalModel('ON', 'OFF', 'INHERIT'), 'INHERIT'),
  refreservation: optionalField(integerModel()),
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
const filesystem = { quota: optionalField(quota) };
const volume = {
  force_size: optionalField(booleanModel),
  sparse: optionalField(booleanModel),
  volsize: requiredField(integerModel()),
  volblocksize: optionalField(literalModel('512', '512B', '1K', '2K', '4K', '8K', '16K', '32K', '64K', '128K')),
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

/** `pool.dataset.update`: every property that is not fixed at creation. */
export const datasetUpdateModel: ParameterModel = partialModel(
  objectModel({
    ...common,
    ...volume,
    ...filesystem,
    user_properties_update: requiredField(listModel(userPropertyUpdate)),
  }),
  ['name', 'sparse', 'volblocksize', 'encryption', 'encryption_options', 'inherit_encryption', 'create_ancestors'],
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
