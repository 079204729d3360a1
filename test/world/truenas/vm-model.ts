import {
  bool,
  integer,
  type Model,
  nonEmpty,
  nullable,
  object,
  oneOf,
  type Parameter,
  partial,
  required,
  text,
  where,
  withDefault,
} from './model.ts';

/** Sockets times cores times threads, at most. */
export const maximumVcpus = 255;
/** `vm.bootloader_ovmf_choices`. */
export const firmwares = ['OVMF_CODE.fd', 'OVMF_CODE.secboot.fd', 'OVMF_CODE_4M.fd', 'OVMF_CODE_4M.secboot.fd'];
/** Some of what libvirt knows. */
export const cpuModels = [
  'qemu64',
  'kvm64',
  'Penryn',
  'Nehalem',
  'Westmere',
  'SandyBridge',
  'Haswell',
  'Skylake-Server',
  'EPYC',
  'EPYC-Rome',
];
const uuid: Model = where(
  text(),
  (value) => value === undefined || /^[0-9a-f]{32}$/i.test(String(value).replaceAll(/urn:|uuid:|[-{}]/g, '')),
  'UUID is not valid version 4',
);
/** `vm.create`. Devices are always made in calls of their own. */
const vmFields = {
  command_line_args: withDefault(text(), ''),
  cpu_mode: withDefault(oneOf('CUSTOM', 'HOST-MODEL', 'HOST-PASSTHROUGH'), 'CUSTOM'),
  cpu_model: withDefault(nullable(text()), null),
  name: required(nonEmpty),
  description: withDefault(text(), ''),
  vcpus: withDefault(integer({ min: 1 }), 1),
  cores: withDefault(integer({ min: 1 }), 1),
  threads: withDefault(integer({ min: 1 }), 1),
  cpuset: withDefault(nullable(text()), null),
  nodeset: withDefault(nullable(text()), null),
  enable_cpu_topology_extension: withDefault(bool, false),
  pin_vcpus: withDefault(bool, false),
  suspend_on_snapshot: withDefault(bool, null),
  trusted_platform_module: withDefault(bool, false),
  memory: required(integer({ min: 20 })),
  min_memory: withDefault(nullable(integer({ min: 20 })), null),
  hyperv_enlightenments: withDefault(bool, false),
  bootloader: withDefault(oneOf('UEFI_CSM', 'UEFI'), 'UEFI'),
  bootloader_ovmf: withDefault(nullable(text()), null),
  autostart: withDefault(bool, true),
  hide_from_msr: withDefault(bool, false),
  ensure_display_device: withDefault(bool, true),
  time: withDefault(oneOf('LOCAL', 'UTC'), 'LOCAL'),
  shutdown_timeout: withDefault(integer({ min: 5, max: 300 }), 90),
  arch_type: withDefault(nullable(text()), null),
  machine_type: withDefault(nullable(text()), null),
  uuid: withDefault(nullable(uuid), null),
  enable_secure_boot: withDefault(bool, false),
};
export const vmCreate = object(vmFields, { name: 'VMCreateArgs' });
/** `vm.update`. */
export const vmUpdate = partial(vmCreate, ['bootloader_ovmf', 'enable_secure_boot'], 'VMUpdate');
/** The first parameter of most methods. */
export const byId: Parameter = { name: 'id', field: required(integer()) };
/** An options object of flags, by the class of the middleware's model. */
export const options = (name: string, fields: Readonly<Record<string, boolean>>): Parameter => ({
  name: 'options',
  field: withDefault(
    object(Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, withDefault(bool, value)])), { name }),
    fields,
  ),
});
/** The roles that may look. */
export const read = ['VM_READ'];
/** The roles that may act. */
export const write = ['VM_WRITE'];
