/** Roles that an organisation of a client certificate can name (talos: pkg/machinery/role/role.go). */
export const knownRoles: ReadonlySet<string> = new Set([
  'os:admin',
  'os:operator',
  'os:reader',
  'os:etcd:backup',
  'os:image:verifier',
  'os:meta:writer',
  'os:impersonator',
]);

const machine = (words: string): string[] => words.split(' ').map((word) => `machine.MachineService/${word}`);

const operator = ['os:operator'];
const reader = ['os:operator', 'os:reader'];

/** The roles besides the administrator that may call a method. A method that is not listed needs the administrator. */
const allowedRoles: ReadonlyMap<string, readonly string[]> = new Map([
  ...grantEach([...machine('Reboot Shutdown ImagePull EtcdAlarmDisarm'), 'machine.ImageService/Pull'], operator),
  ...grantEach(machine('EtcdStatus EtcdMemberList EtcdAlarmList'), [...reader, 'os:etcd:backup']),
  ...grantEach(machine('EtcdSnapshot'), [...operator, 'os:etcd:backup']),
  ...grantEach([...machine('Version Hostname ServiceList'), 'machine.ImageService/List'], reader),
  ...grantEach(
    ['Get', 'List', 'Watch'].map((word) => `cosi.resource.State/${word}`),
    reader,
  ),
]);

/** In maintenance mode every caller is a reader, and may apply a configuration. */
const maintenanceExtras = new Set(['machine.MachineService/ApplyConfiguration']);

export function mayCallMethod(method: string, roles: ReadonlySet<string>, maintenance: boolean): boolean {
  if (roles.has('os:admin')) return true;
  if (maintenance && maintenanceExtras.has(method)) return true;
  return (allowedRoles.get(method) ?? []).some((role) => roles.has(role));
}

function grantEach(methods: readonly string[], roles: readonly string[]): [string, readonly string[]][] {
  return methods.map((method) => [method, roles]);
}
