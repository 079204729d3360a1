import { bool, integer, type Model, nonEmpty, nullable, object, oneOf, required, text, withDefault } from './model.ts';
import type { Entry } from './query.ts';
import type { Version } from './versions.ts';

const sectors = oneOf(null, 512, 4096);
const macPattern = '^([0-9A-Fa-f]{2}[:-]?){5}([0-9A-Fa-f]{2})$';
/** `vm.resolution_choices`. */
export const resolutions = [
  ...['1920x1200', '1920x1080', '1600x1200', '1600x900', '1400x1050'],
  ...['1280x1024', '1280x720', '1024x768', '800x600', '640x480'],
];
const type = withDefault(oneOf('AHCI', 'VIRTIO'), 'AHCI');
const disk = {
  logical_sectorsize: withDefault(sectors, null),
  physical_sectorsize: withDefault(sectors, null),
  iotype: withDefault(oneOf('NATIVE', 'THREADS', 'IO_URING'), 'THREADS'),
  serial: withDefault(nullable(nonEmpty), null),
};

/** What each type of device may have, told apart by `dtype`. No `mtu` and no `vlan` on a NIC. */
export function deviceModels(version: Version): Readonly<Record<string, Model>> {
  return {
    CDROM: object({ dtype: required(text()), path: required(text({ min: 1, pattern: version.cdromPathPattern })) }),
    DISPLAY: object({
      dtype: required(text()),
      resolution: withDefault(oneOf(...resolutions), '1024x768'),
      port: withDefault(nullable(integer({ min: 5900, max: 65535 })), null),
      web_port: withDefault(nullable(integer()), null),
      bind: withDefault(nonEmpty, '127.0.0.1'),
      wait: withDefault(bool, false),
      password: withDefault(nullable(text()), null),
      web: withDefault(bool, true),
      type: withDefault(oneOf(...version.displayTypes), 'SPICE'),
    }),
    NIC: object({
      dtype: required(text()),
      trust_guest_rx_filters: withDefault(bool, false),
      type: withDefault(oneOf('E1000', 'VIRTIO'), 'E1000'),
      nic_attach: withDefault(nullable(text()), null),
      mac: withDefault(nullable(text({ pattern: macPattern })), null),
    }),
    PCI: object({ dtype: required(text()), pptdev: required(nonEmpty) }),
    RAW: object({
      dtype: required(text()),
      path: required(text({ min: 1, pattern: '^[^{}]*$' })),
      type,
      exists: withDefault(bool, false),
      boot: withDefault(bool, false),
      size: withDefault(nullable(integer()), null),
      ...disk,
    }),
    DISK: object(
      {
        dtype: required(text()),
        path: withDefault(nullable(nonEmpty), null),
        type,
        create_zvol: withDefault(bool, false),
        zvol_name: withDefault(nullable(text()), null),
        zvol_volsize: withDefault(nullable(integer()), null),
        ...disk,
      },
      {
        check: ({ path, create_zvol: create }) => {
          if (path !== null && create === true) return 'Path should not be provided if create_zvol is set';
          return path === null && create !== true ? 'Path must be specified if create_zvol is not set' : undefined;
        },
      },
    ),
    USB: object({
      dtype: required(text()),
      usb: withDefault(nullable(object({ vendor_id: required(nonEmpty), product_id: required(nonEmpty) })), null),
      controller_type: withDefault(nonEmpty, 'nec-xhci'),
      device: withDefault(nullable(nonEmpty), null),
    }),
  };
}

/** The argument of `vm.device.create`. */
export interface NewDevice {
  vm: number;
  order: number | null;
  attributes: Entry;
}
