import {
  booleanModel,
  defaultedField,
  integerModel,
  literalModel,
  type MethodParameter,
  nonEmptyTextModel,
  nullableModel,
  objectModel,
  type ParameterModel,
  partialModel,
  refinedModel,
  requiredField,
  textModel,
} from '../middleware/parameter-model.ts';

/** Sockets times cores times threads, at most. */
export const maximumVcpus = 255;
/** A subset of the models that libvirt knows. */
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
const uuid: ParameterModel = refinedModel(
  textModel(),
  (value) => value === undefined || /^[0-9a-f]{32}$/i.test(String(value).replaceAll(/urn:|uuid:|[-{}]/g, '')),
  'UUID is not valid version 4',
);
/** `vm.create`. Devices are always created by separate calls. */
const vmFields = {
  command_line_args: defaultedField(textModel(), ''),
  cpu_mode: defaultedField(literalModel('CUSTOM', 'HOST-MODEL', 'HOST-PASSTHROUGH'), 'CUSTOM'),
  cpu_model: defaultedField(nullableModel(textModel()), null),
  name: requiredField(nonEmptyTextModel),
  description: defaultedField(textModel(), ''),
  vcpus: defaultedField(integerModel({ min: 1 }), 1),
  cores: defaultedField(integerModel({ min: 1 }), 1),
  threads: defaultedField(integerModel({ min: 1 }), 1),
  cpuset: defaultedField(nullableModel(textModel()), null),
  nodeset: defaultedField(nullableModel(textModel()), null),
  enable_cpu_topology_extension: defaultedField(booleanModel, false),
  pin_vcpus: defaultedField(booleanModel, false),
  suspend_on_snapshot: defaultedField(booleanModel, null),
  trusted_platform_module: defaultedField(booleanModel, false),
  memory: requiredField(integerModel({ min: 20 })),
  min_memory: defaultedField(nullableModel(integerModel({ min: 20 })), null),
  hyperv_enlightenments: defaultedField(booleanModel, false),
  bootloader: defaultedField(literalModel('UEFI_CSM', 'UEFI'), 'UEFI'),
  bootloader_ovmf: defaultedField(nullableModel(textModel()), null),
  autostart: defaultedField(booleanModel, true),
  hide_from_msr: defaultedField(booleanModel, false),
  ensure_display_device: defaultedField(booleanModel, true),
  time: defaultedField(literalModel('LOCAL', 'UTC'), 'LOCAL'),
  shutdown_timeout: defaultedField(integerModel({ min: 5, max: 300 }), 90),
  arch_type: defaultedField(nullableModel(textModel()), null),
  machine_type: defaultedField(nullableModel(textModel()), null),
  uuid: defaultedField(nullableModel(uuid), null),
  enable_secure_boot: defaultedField(booleanModel, false),
};
export const vmCreateModel = objectModel(vmFields, { name: 'VMCreateArgs' });
/** `vm.update`. */
export const vmUpdateModel = partialModel(vmCreateModel, ['bootloader_ovmf', 'enable_secure_boot'], 'VMUpdate');
/** The first parameter of most methods. */
export const vmIdParameter: MethodParameter = { name: 'id', field: requiredField(integerModel()) };
/** An options object of booleans, with the class of the middleware's model. */
export const optionsParameter = (name: string, fields: Readonly<Record<string, boolean>>): MethodParameter => ({
  name: 'options',
  field: defaultedField(
    objectModel(
      Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, defaultedField(booleanModel, value)])),
      { name },
    ),
    fields,
  ),
});
/** The roles with read access. */
export const vmReadRoles = ['VM_READ'];
/** The roles with write access. */
export const vmWriteRoles = ['VM_WRITE'];
