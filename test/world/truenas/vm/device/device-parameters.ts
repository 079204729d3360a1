import {
  booleanModel,
  defaultedField,
  integerModel,
  literalModel,
  nonEmptyTextModel,
  nullableModel,
  objectModel,
  type ParameterModel,
  requiredField,
  textModel,
} from '../../middleware/parameter-model.ts';
import type { Entry } from '../../middleware/query.ts';
import type { TrueNasRelease } from '../../versions.ts';

const sectors = literalModel(null, 512, 4096);
const macPattern = '^([0-9A-Fa-f]{2}[:-]?){5}([0-9A-Fa-f]{2})$';
const displayResolutions = [
  ...['1920x1200', '1920x1080', '1600x1200', '1600x900', '1400x1050'],
  ...['1280x1024', '1280x720', '1024x768', '800x600', '640x480'],
];
/** The attributes of the simulated types of device, discriminated by `dtype`. A NIC has no `mtu` and no `vlan`. */
export function deviceModelsOf(version: TrueNasRelease): Readonly<Record<string, ParameterModel>> {
  return {
    CDROM: objectModel({
      dtype: requiredField(textModel()),
      path: requiredField(textModel({ min: 1, pattern: version.cdromPathPattern })),
    }),
    DISPLAY: objectModel({
      dtype: requiredField(textModel()),
      resolution: defaultedField(literalModel(...displayResolutions), '1024x768'),
      port: defaultedField(nullableModel(integerModel({ min: 5900, max: 65535 })), null),
      web_port: defaultedField(nullableModel(integerModel()), null),
      bind: defaultedField(nonEmptyTextModel, '127.0.0.1'),
      wait: defaultedField(booleanModel, false),
      password: defaultedField(nullableModel(textModel()), null),
      web: defaultedField(booleanModel, true),
      type: defaultedField(literalModel(...version.displayTypes), 'SPICE'),
    }),
    NIC: objectModel({
      dtype: requiredField(textModel()),
      trust_guest_rx_filters: defaultedField(booleanModel, false),
      type: defaultedField(literalModel('E1000', 'VIRTIO'), 'E1000'),
      nic_attach: defaultedField(nullableModel(textModel()), null),
      mac: defaultedField(nullableModel(textModel({ pattern: macPattern })), null),
    }),
    DISK: objectModel({
      dtype: requiredField(textModel()),
      path: requiredField(nonEmptyTextModel),
      type: defaultedField(literalModel('AHCI', 'VIRTIO'), 'AHCI'),
      logical_sectorsize: defaultedField(sectors, null),
      physical_sectorsize: defaultedField(sectors, null),
      iotype: defaultedField(literalModel('NATIVE', 'THREADS', 'IO_URING'), 'THREADS'),
      serial: defaultedField(nullableModel(nonEmptyTextModel), null),
    }),
  };
}

/** The argument of `vm.device.create`. */
export interface DeviceCreateRequest {
  vm: number;
  order: number | null;
  attributes: Entry;
}
