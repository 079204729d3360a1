import { type ApiMethod, plainMethod } from '../../middleware/method.ts';
import {
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
import { applyQuery, type QueryOptions, queryParameters } from '../../middleware/query.ts';
import type { TrueNasRelease } from '../../versions.ts';
import { optionsParameter } from '../vm-parameters.ts';
import { describeDevice } from '../vm-runtime.ts';
import { type DeviceCreateRequest, deviceModelsOf } from './device-parameters.ts';
import { createDevice, deleteDevice, nicAttachChoices, updateDevice } from './device-records.ts';

const byId: MethodParameter = { name: 'id', field: requiredField(integerModel()) };
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
    plainMethod('vm.device.query', queryParameters, read, ([filters, options], { nas }) =>
      applyQuery([...nas.devices.values()].map(describeDevice), filters, options as QueryOptions),
    ),
    plainMethod(
      'vm.device.create',
      [{ name: 'vm_device_create', field: requiredField(create) }],
      write,
      ([data], context) => createDevice(data as DeviceCreateRequest, context),
    ),
    plainMethod(
      'vm.device.update',
      [byId, { name: 'vm_device_update', field: requiredField(update) }],
      write,
      ([id, data], context) => updateDevice(id, data as Partial<DeviceCreateRequest>, context),
    ),
    plainMethod(
      'vm.device.delete',
      [byId, optionsParameter('VMDeviceDeleteOptions', { force: false, raw_file: false, zvol: false })],
      write,
      ([id], { nas }) => deleteDevice(nas, id),
    ),
    plainMethod('vm.device.nic_attach_choices', [], read, (_, { nas }) => nicAttachChoices(nas)),
  ];
}
