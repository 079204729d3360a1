import type { ApiMethod } from '../../middleware/method.ts';
import {
  booleanModel,
  defaultedField,
  dictionaryModel,
  integerModel,
  type MethodParameter,
  nullableModel,
  objectModel,
  optionalField,
  requiredField,
  taggedUnionModel,
} from '../../middleware/parameter-model.ts';
import { applyQuery, instanceParameters, type QueryOptions, queryParameters } from '../../middleware/query.ts';
import { zvolPath } from '../../storage/dataset-files.ts';
import type { TrueNasRelease } from '../../versions.ts';
import { describeDevice } from '../vm-runtime.ts';
import { type DeviceCreateRequest, deviceModelsOf } from './device-parameters.ts';
import {
  createDevice,
  type DeviceDeleteOptions,
  deleteDevice,
  getDevice,
  nicAttachChoices,
  updateDevice,
} from './device-records.ts';

const byId: MethodParameter = { name: 'id', field: requiredField(integerModel()) };
const defaultDeleteOptions = { force: false, raw_file: false, zvol: false };
const read = ['VM_DEVICE_READ'];
const write = ['VM_DEVICE_WRITE'];

/** `vm.device.*` of one release. */
export function vmDeviceMethods(version: TrueNasRelease): readonly ApiMethod[] {
  const attributes = taggedUnionModel('dtype', deviceModelsOf(version));
  const create = objectModel(
    {
      attributes: requiredField(attributes),
      vm: requiredField(integerModel()),
      order: defaultedField(nullableModel(integerModel()), null),
    },
    { name: 'VMDeviceCreateArgs' },
  );
  const update = objectModel(
    {
      attributes: optionalField(dictionaryModel),
      vm: optionalField(integerModel()),
      order: optionalField(nullableModel(integerModel())),
    },
    { name: 'VMDeviceUpdate' },
  );
  return [
    {
      name: 'vm.device.query',
      parameters: queryParameters,
      access: read,
      run: ([filters, options], { nas }) =>
        applyQuery([...nas.devices.values()].map(describeDevice), filters, options as QueryOptions),
    },
    {
      name: 'vm.device.get_instance',
      parameters: instanceParameters(),
      access: read,
      run: ([id], { nas }) => describeDevice(getDevice(nas, id)),
    },
    {
      name: 'vm.device.create',
      parameters: [{ name: 'vm_device_create', field: requiredField(create) }],
      access: write,
      run: ([data], context) => createDevice(data as DeviceCreateRequest, context),
    },
    {
      name: 'vm.device.update',
      parameters: [byId, { name: 'vm_device_update', field: requiredField(update) }],
      access: write,
      run: ([id, data], context) => updateDevice(id, data as Partial<DeviceCreateRequest>, context),
    },
    {
      name: 'vm.device.delete',
      parameters: [
        byId,
        {
          name: 'options',
          field: defaultedField(
            objectModel(
              Object.fromEntries(
                Object.keys(defaultDeleteOptions).map((key) => [key, defaultedField(booleanModel, false)]),
              ),
              {
                name: 'VMDeviceDeleteOptions',
              },
            ),
            defaultDeleteOptions,
          ),
        },
      ],
      access: write,
      run: ([id, options], { nas }) => deleteDevice(nas, id, options as DeviceDeleteOptions),
    },
    { name: 'vm.device.nic_attach_choices', parameters: [], access: read, run: (_, { nas }) => nicAttachChoices(nas) },
    {
      name: 'vm.device.iotype_choices',
      parameters: [],
      access: read,
      run: () => ({ NATIVE: 'NATIVE', THREADS: 'THREADS', IO_URING: 'IO_URING' }),
    },
    {
      name: 'vm.device.disk_choices',
      parameters: [],
      access: read,
      run: (_, { nas }) =>
        Object.fromEntries(
          [...nas.datasets.values()].filter((one) => one.type === 'VOLUME').map(({ id }) => [zvolPath(id), id]),
        ),
    },
    {
      name: 'vm.device.bind_choices',
      parameters: [],
      access: read,
      run: (_, { nas }) => {
        const own = [...nas.links.values()].flatMap(({ address }) => (address ? [address.split('/')[0] ?? ''] : []));
        return Object.fromEntries(['0.0.0.0', '127.0.0.1', '::', '::1', ...own].map((one) => [one, one]));
      },
    },
  ];
}
