/**
 * The role that each of our calls requires of the key's user, the same in 25.04.2, 25.10 and 26 (middleware: the roles
 * that methods declare). `system.version_short`, `auth.generate_token`, `core.subscribe` to jobs, `core.get_jobs` for
 * own jobs and `core.download` require only a login; the last also requires the role of the method that it runs. A
 * subscription to changes requires the role of the query of the same name.
 */
export const requiredRoles = {
  'filesystem.put': 'FULL_ADMIN',
  'filesystem.get': 'FULL_ADMIN',
  'filesystem.stat': 'FILESYSTEM_ATTRS_READ',
  'filesystem.listdir': 'FILESYSTEM_ATTRS_READ',
  'system.state': 'SYSTEM_GENERAL_READ',
  'interface.query': 'NETWORK_INTERFACE_READ',
  'pool.query': 'POOL_READ',
  'pool.dataset.query': 'DATASET_READ',
  'pool.dataset.create': 'DATASET_WRITE',
  'pool.dataset.update': 'DATASET_WRITE',
  'pool.dataset.unlock': 'DATASET_WRITE',
  'pool.dataset.delete': 'DATASET_DELETE',
  'vm.query': 'VM_READ',
  'vm.virtualization_details': 'VM_READ',
  'vm.guest_architecture_and_machine_choices': 'VM_READ',
  'vm.cpu_model_choices': 'VM_READ',
  'vm.get_available_memory': 'VM_READ',
  'vm.create': 'VM_WRITE',
  'vm.delete': 'VM_WRITE',
  'vm.start': 'VM_WRITE',
  'vm.stop': 'VM_WRITE',
  'vm.poweroff': 'VM_WRITE',
  'vm.resume': 'VM_WRITE',
  'vm.update': 'VM_WRITE',
  'vm.device.query': 'VM_DEVICE_READ',
  'vm.device.nic_attach_choices': 'VM_DEVICE_READ',
  'vm.device.create': 'VM_DEVICE_WRITE',
  'vm.device.update': 'VM_DEVICE_WRITE',
  'vm.device.delete': 'VM_DEVICE_WRITE',
} as const;

/** This role includes all others. Uploads, which every machine needs, require it in every version. */
const fullAdmin = 'FULL_ADMIN';

/**
 * The missing roles, each with the calls that would be refused. `held`: all roles of the user, with the included ones.
 */
export function missingRoles(held: readonly string[]): readonly { readonly role: string; readonly calls: string[] }[] {
  if (held.includes(fullAdmin)) return [];
  const missing = [...new Set(Object.values(requiredRoles))].filter((role) => !held.includes(role));
  return missing.map((role) => ({
    role,
    calls: Object.entries(requiredRoles).flatMap(([call, wanted]) => (wanted === role ? [call] : [])),
  }));
}
