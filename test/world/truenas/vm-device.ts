import { describeDevice } from './machines.ts';
import type { Method } from './method.ts';
import {
  bool,
  integer,
  nullable,
  object,
  optional,
  type Parameter,
  record,
  required,
  tagged,
  withDefault,
} from './model.ts';
import { applyQuery, instanceParameters, type QueryOptions, queryParameters } from './query.ts';
import { zvolPath } from './storage.ts';
import type { Version } from './versions.ts';
import { deviceModels, type NewDevice } from './vm-device-model.ts';
import { createDevice, type Deletion, deleteDevice, getDevice, nicChoices, updateDevice } from './vm-device-table.ts';

const byId: Parameter = { name: 'id', field: required(integer()) };
const deletion = { force: false, raw_file: false, zvol: false };
const read = ['VM_DEVICE_READ'];
const write = ['VM_DEVICE_WRITE'];

/** `vm.device.*` as one release has it. */
export function vmDeviceMethods(version: Version): readonly Method[] {
  const attributes = tagged('dtype', deviceModels(version));
  const create = object(
    {
      attributes: required(attributes),
      vm: required(integer()),
      order: withDefault(nullable(integer()), null),
    },
    { name: 'VMDeviceCreateArgs' },
  );
  const update = object(
    { attributes: optional(record), vm: optional(integer()), order: optional(nullable(integer())) },
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
      parameters: [{ name: 'vm_device_create', field: required(create) }],
      access: write,
      run: ([data], context) => createDevice(data as NewDevice, context),
    },
    {
      name: 'vm.device.update',
      parameters: [byId, { name: 'vm_device_update', field: required(update) }],
      access: write,
      run: ([id, data], context) => updateDevice(id, data as Partial<NewDevice>, context),
    },
    {
      name: 'vm.device.delete',
      parameters: [
        byId,
        {
          name: 'options',
          field: withDefault(
            object(Object.fromEntries(Object.keys(deletion).map((key) => [key, withDefault(bool, false)])), {
              name: 'VMDeviceDeleteOptions',
            }),
            deletion,
          ),
        },
      ],
      access: write,
      run: ([id, options], { nas }) => deleteDevice(nas, id, options as Deletion),
    },
    { name: 'vm.device.nic_attach_choices', parameters: [], access: read, run: (_, { nas }) => nicChoices(nas) },
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
