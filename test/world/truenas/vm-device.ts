import { randomBytes } from 'node:crypto';
import { truncate, unlink, writeFile } from 'node:fs/promises';
import { CallError, errnos, notFound, Refusals } from './errors.ts';
import { describeDevice, devicesOf, isActive, nameOf, randomMac, shownOrder } from './machines.ts';
import type { Context, Method } from './method.ts';
import {
  bool,
  integer,
  type Model,
  nonEmpty,
  nullable,
  object,
  oneOf,
  optional,
  type Parameter,
  readValue,
  record,
  required,
  tagged,
  text,
  withDefault,
} from './model.ts';
import type { Device, Nas, Vm } from './nas.ts';
import { destroyTree, isBusy, newDataset } from './pool-dataset.ts';
import { applyQuery, type Entry, instanceParameters, type QueryOptions, queryParameters } from './query.ts';
import {
  exists,
  filesystemOf,
  markOf,
  materialize,
  parentOf,
  poolOf,
  realPath,
  reckonSpace,
  thickReservation,
  zvolName,
  zvolPath,
} from './storage.ts';
import type { Version } from './versions.ts';
import { getVm } from './vm.ts';

/** The user QEMU runs as on TrueNAS: uid and gid 986. */
const libvirtUser = { name: 'libvirt-qemu', id: 986 };

const sectors = nullable(oneOf(512, 4096));
const macPattern = '^([0-9A-Fa-f]{2}[:-]?){5}([0-9A-Fa-f]{2})$';
const resolutions = [
  ...['1920x1200', '1920x1080', '1600x1200', '1600x900', '1400x1050'],
  ...['1280x1024', '1280x720', '1024x768', '800x600', '640x480'],
];
const disk = {
  type: withDefault(oneOf('AHCI', 'VIRTIO'), 'AHCI'),
  logical_sectorsize: withDefault(sectors, null),
  physical_sectorsize: withDefault(sectors, null),
  iotype: withDefault(oneOf('NATIVE', 'THREADS', 'IO_URING'), 'THREADS'),
  serial: withDefault(nullable(nonEmpty), null),
};

/** What each type of device may have, told apart by `dtype`. No `mtu` and no `vlan` on a NIC. */
function deviceModels(version: Version): Readonly<Record<string, Model>> {
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
      exists: withDefault(bool, false),
      boot: withDefault(bool, false),
      size: withDefault(nullable(integer()), null),
      ...disk,
    }),
    DISK: object(
      {
        dtype: required(text()),
        path: withDefault(nullable(nonEmpty), null),
        create_zvol: withDefault(bool, false),
        zvol_name: withDefault(nullable(text()), null),
        zvol_volsize: withDefault(nullable(integer()), null),
        ...disk,
      },
      ({ path, create_zvol: create }) => {
        if (path !== null && create === true) return 'Path should not be provided if create_zvol is set';
        return path === null && create !== true ? 'Path must be specified if create_zvol is not set' : undefined;
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

const byId: Parameter = { name: 'id', field: required(integer()) };
const deletion = { force: false, raw_file: false, zvol: false };
const read = ['VM_DEVICE_READ'];
const write = ['VM_DEVICE_WRITE'];

/** `vm.device.*` as one release has it. */
export function vmDeviceMethods(version: Version): readonly Method[] {
  const attributes = tagged('dtype', deviceModels(version));
  const create = object({
    attributes: required(attributes),
    vm: required(integer()),
    order: withDefault(nullable(integer()), null),
  });
  const update = object({
    attributes: optional(record),
    vm: optional(integer()),
    order: optional(nullable(integer())),
  });
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
            object(Object.fromEntries(Object.keys(deletion).map((key) => [key, withDefault(bool, false)]))),
            deletion,
          ),
        },
      ],
      access: write,
      run: ([id, options], { nas }) => deleteDevice(nas, id, options as typeof deletion),
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

interface NewDevice {
  vm: number;
  order: number | null;
  attributes: Entry;
}

function getDevice(nas: Nas, id: unknown): Device {
  const device = nas.devices.get(Number(id));
  if (!device) throw notFound('VMDevice', id);
  return device;
}

function nicChoices(nas: Nas): Entry {
  const links = [...nas.links.values()];
  if (nas.version.nicChoicesByKind) {
    const names = (isBridge: boolean) =>
      links.filter(({ type }) => (type === 'BRIDGE') === isBridge).map(({ name }) => name);
    return { BRIDGE: names(true), MACVLAN: names(false) };
  }
  return Object.fromEntries(
    links.map(({ name, description }) => [name, description ? `${name}: ${description}` : name]),
  );
}

async function createDevice(data: NewDevice, { nas }: Context): Promise<Entry> {
  const vm = getVm(nas, data.vm);
  const device: Device = { id: nas.nextId.device, vm: vm.id, order: data.order, attributes: { ...data.attributes } };
  await checkDevice(nas, vm, device, undefined);
  await prepare(nas, device, undefined);
  nas.nextId.device += 1;
  nas.devices.set(device.id, device);
  reorder(nas, device, data.order);
  const created = describeDevice(device);
  nas.events.emit({ collection: 'vm.device.query', msg: 'added', id: device.id, fields: created });
  return created;
}

async function updateDevice(id: unknown, data: Partial<NewDevice>, { nas }: Context): Promise<Entry> {
  const old = getDevice(nas, id);
  const shown = describeDevice(old) as unknown as Device;
  const merged = { ...shown.attributes, ...data.attributes };
  const attributes = readValue(tagged('dtype', deviceModels(nas.version)), merged) as Entry;
  const next: Device = {
    id: old.id,
    vm: data.vm ?? old.vm,
    order: data.order === undefined ? shown.order : data.order,
    attributes,
  };
  await checkDevice(nas, getVm(nas, next.vm), next, old);
  await prepare(nas, next, old);
  Object.assign(old, next);
  reorder(nas, old, next.order);
  const updated = describeDevice(old);
  nas.events.emit({ collection: 'vm.device.query', msg: 'changed', id: old.id, fields: updated });
  return updated;
}

/**
 * An order that another device shows moves the others on, one after the other
 * (middleware: plugins/vm/vm_devices.py, reorder_devices).
 */
function reorder(nas: Nas, device: Device, order: number | null): void {
  if (order === null) return;
  const others = [...nas.devices.values()].filter((one) => one.vm === device.vm && one !== device);
  if (!others.some((one) => shownOrder(one) === order)) return;
  const used = [order];
  for (const other of others.sort((a, b) => shownOrder(a) - shownOrder(b))) {
    if (used.includes(shownOrder(other))) {
      let next = Math.min(...used) + 1;
      while (used.includes(next)) next += 1;
      other.order = next;
    }
    used.push(shownOrder(other));
  }
}

async function checkDevice(nas: Nas, vm: Vm, device: Device, old: Device | undefined): Promise<void> {
  const refusals = new Refusals();
  const { dtype } = device.attributes;
  if (dtype === 'CDROM') checkCdrom(refusals, nas, vm, device);
  else if (dtype === 'DISK') checkDisk(refusals, nas, device);
  else if (dtype === 'RAW') checkRaw(refusals, nas, device);
  else if (dtype === 'NIC') checkNic(refusals, nas, vm, device);
  else if (dtype === 'DISPLAY') checkDisplay(refusals, nas, vm, device);
  if (dtype === 'DISK' || dtype === 'RAW') checkStorage(refusals, nas, vm, device, old);
  refusals.check();
}

const pathOf = (device: Device) =>
  String(device.attributes['path'] ?? zvolPath(String(device.attributes['zvol_name'] ?? '')));

function isTaken(nas: Nas, vm: Vm, device: Device): boolean {
  return devicesOf(nas, vm).some(
    (one) =>
      one.id !== device.id &&
      ['DISK', 'RAW', 'CDROM'].includes(String(one.attributes['dtype'])) &&
      pathOf(one) === pathOf(device),
  );
}

function checkPoolPath(refusals: Refusals, nas: Nas, path: string): void {
  const pools = [...nas.pools.keys()];
  if (!path.startsWith('/mnt/') || !pools.some((pool) => `${path}/`.startsWith(`/mnt/${pool}/`))) {
    refusals.add('attributes.path', 'The path must reside within a pool mount point');
  }
}

function checkCdrom(refusals: Refusals, nas: Nas, vm: Vm, device: Device): void {
  const path = pathOf(device);
  checkPoolPath(refusals, nas, path);
  if (isTaken(nas, vm, device)) {
    refusals.add('attributes.path', `${nameOf(vm)} has "${path}" already configured`);
  }
  if (refusals.any) return;
  if (!exists(nas, path)) throw new CallError('Path not found.', errnos.ENOENT);
  const dataset = filesystemOf(nas, path);
  if (nas.version.cdromNeedsChildDataset && dataset && !dataset.id.includes('/')) {
    refusals.add('attributes.path', 'The path must be a dataset or a directory within a dataset.');
    return;
  }
  checkReadable(refusals, nas, path);
}

/** QEMU must be able to read the file: by its mode, or because libvirt may take ownership of it. */
function checkReadable(refusals: Refusals, nas: Nas, path: string): void {
  const file = markOf(nas, path, false);
  const closed = foldersAbove(path).find((folder) => !mayEnter(nas, folder));
  if (closed === undefined && (file.mode & 0o004) !== 0 && file.uid !== libvirtUser.id) return;
  if (closed !== undefined) {
    const message =
      `Filesystem permissions on path ${closed} prevent access for user "${libvirtUser.name}" to the path ${path}. ` +
      `This may be fixed by granting the aforementioned user execute permissions on the path: ${closed}.`;
    refusals.add('attributes.path', message);
  }
  // As owner it would read by the owner's bits.
  if (closed !== undefined || (file.mode & 0o400) === 0) {
    const message = `'${libvirtUser.name}' user cannot read from '${path}' path. Please ensure correct permissions are specified.`;
    refusals.add('attributes.path', message);
  }
}

function foldersAbove(path: string): string[] {
  const parts = path.split('/').slice(1, -1);
  return parts.map((_, index) => `/${parts.slice(0, index + 1).join('/')}`);
}

function mayEnter(nas: Nas, folder: string): boolean {
  const { mode, uid, gid } = markOf(nas, folder, true);
  if (uid === libvirtUser.id) return (mode & 0o100) !== 0;
  return (mode & (gid === libvirtUser.id ? 0o010 : 0o001)) !== 0;
}

function checkDisk(refusals: Refusals, nas: Nas, device: Device): void {
  const { attributes } = device;
  if (attributes['create_zvol'] === true) {
    checkNewZvol(refusals, nas, attributes);
    return;
  }
  for (const key of ['zvol_name', 'zvol_volsize']) {
    if (!attributes[key]) continue;
    refusals.add(`attributes.${key}`, 'This field should not be specified when "create_zvol" is unset.');
  }
  const path = attributes['path'] as string | null;
  if (!path) refusals.add('attributes.path', 'Disk path is required.');
  else if (!path.startsWith('/dev/zvol/')) {
    refusals.add('attributes.path', 'Disk path must start with "/dev/zvol/"');
  } else if (path.startsWith('/dev/zvol/boot-pool/')) {
    refusals.add('attributes.path', 'Disk residing in boot pool cannot be consumed and is not supported');
  } else {
    const dataset = nas.datasets.get(zvolName(path));
    if (!dataset) refusals.add('attributes.path', 'Zvol referenced by path does not exist', errnos.ENOENT);
    else if (dataset.type !== 'VOLUME') {
      refusals.add('attributes.path', 'Path specified does not reference to a VOLUME');
    }
  }
}

function checkNewZvol(refusals: Refusals, nas: Nas, attributes: Entry): void {
  for (const key of ['zvol_name', 'zvol_volsize']) {
    if (!attributes[key]) refusals.add(`attributes.${key}`, 'This field is required.');
  }
  if (attributes['path']) refusals.add('attributes.path', 'Must not be specified when creating zvol');
  refusals.check();
  const name = String(attributes['zvol_name']);
  attributes['path'] = zvolPath(name);
  if (nas.datasets.has(name)) refusals.add('attributes.zvol_name', `'${name}' already exists.`);
  const parent = parentOf(name) ?? name;
  if (!nas.datasets.has(parent)) {
    refusals.add('attributes.zvol_name', `Parent dataset ${parent} does not exist.`, errnos.ENOENT);
  }
}

function checkRaw(refusals: Refusals, nas: Nas, device: Device): void {
  const { attributes } = device;
  const path = pathOf(device);
  const isThere = exists(nas, path);
  const claimed = attributes['exists'] === true;
  if (claimed && !isThere) refusals.add('attributes.path', 'Path must exist when "exists" is set.');
  else if (!claimed) {
    if (isThere) refusals.add('attributes.path', 'Path must not exist when "exists" is unset.');
    else if (!attributes['size']) refusals.add('attributes.size', 'Please provide a valid size for the raw file.');
  }
  checkPoolPath(refusals, nas, path);
}

function checkStorage(refusals: Refusals, nas: Nas, vm: Vm, device: Device, old: Device | undefined): void {
  const { attributes } = device;
  if (isTaken(nas, vm, device)) {
    refusals.add('attributes.path', `${nameOf(vm)} has "${pathOf(device)}" already configured`);
  }
  if (attributes['physical_sectorsize'] && !attributes['logical_sectorsize']) {
    const message = 'This field must be provided when physical_sectorsize is specified.';
    refusals.add('attributes.logical_sectorsize', message);
  }
  // Whatever serial was asked for, a new device gets one of the server's making.
  if (!old) attributes['serial'] = newSerial();
  else if (!attributes['serial']) attributes['serial'] = old.attributes['serial'];
  else if (attributes['serial'] !== old.attributes['serial']) {
    refusals.add('attributes.serial', 'This field is read-only.');
  }
}

function newSerial(): string {
  const alphabet = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';
  return Array.from(randomBytes(8), (byte) => alphabet[byte % alphabet.length]).join('');
}

function checkNic(refusals: Refusals, nas: Nas, vm: Vm, device: Device): void {
  const { attributes } = device;
  const attach = attributes['nic_attach'] as string | null;
  const trusts = attributes['trust_guest_rx_filters'] === true;
  if (attach && !nas.links.has(attach)) refusals.add('attributes.nic_attach', 'Not a valid choice.');
  else if (attach?.startsWith('br') && trusts) {
    const message = 'This can only be set when "nic_attach" is not a bridge device';
    refusals.add('attributes.trust_guest_rx_filters', message);
  }
  if (trusts && attributes['type'] === 'E1000') {
    const message = 'This can only be set when "type" of NIC device is "VIRTIO"';
    refusals.add('attributes.trust_guest_rx_filters', message);
  }
  const mac = attributes['mac'] as string | null;
  if (mac?.toLowerCase().startsWith('ff')) refusals.add('attributes.mac', 'MAC address must not start with `ff`');
  if (!nas.version.storesMac) return;
  if (mac === null) attributes['mac'] = randomMac();
  const others = devicesOf(nas, vm).filter((one) => one.id !== device.id);
  if (others.some((one) => one.attributes['mac'] === attributes['mac'])) {
    refusals.add('attributes.mac', 'MAC address is already in use by another NIC of this VM');
  }
}

function checkDisplay(refusals: Refusals, nas: Nas, vm: Vm, device: Device): void {
  const { attributes } = device;
  const others = devicesOf(nas, vm).filter((one) => one.id !== device.id && one.attributes['dtype'] === 'DISPLAY');
  if (others.some((one) => one.attributes['type'] === attributes['type'])) {
    refusals.add('attributes.type', `Only one ${attributes['type']} Display device is supported`);
  }
  if (!attributes['password']) refusals.add('attributes.password', 'Password is required');
  if (attributes['type'] !== 'VNC') return;
  if (attributes['web'] === true) {
    refusals.add('attributes.web', 'Web access is not supported for VNC display devices, please use SPICE instead');
  }
  if (String(attributes['password'] ?? '').length > 8) {
    refusals.add('attributes.password', 'Password for VNC display devices should be 8 characters or less');
  }
}

/** Makes what the device needs and forgets what is not stored. */
async function prepare(nas: Nas, device: Device, old: Device | undefined): Promise<void> {
  const { attributes } = device;
  if (attributes['dtype'] === 'DISK') {
    const wanted = attributes['create_zvol'] === true;
    if (wanted) await createZvol(nas, String(attributes['zvol_name']), Number(attributes['zvol_volsize']));
    Object.assign(attributes, { create_zvol: false, zvol_name: null, zvol_volsize: null });
  }
  if (attributes['dtype'] !== 'RAW') return;
  const size = Number(attributes['size'] ?? 0);
  const path = realPath(nas, pathOf(device));
  if (!old && attributes['exists'] !== true) {
    await writeFile(path, '');
    await truncate(path, size);
  } else if (old && old.attributes['size'] !== attributes['size']) await truncate(path, size);
  attributes['exists'] = false;
}

async function createZvol(nas: Nas, name: string, bytes: number): Promise<void> {
  const available = (await reckonSpace(nas)).get(parentOf(name) ?? poolOf(name))?.available ?? 0;
  const refusals = new Refusals();
  if (bytes > available * 0.8) {
    const message = 'It is not recommended to use more than 80% of your available space for VOLUME';
    refusals.add('pool_dataset_create.volsize', message);
  }
  if (bytes % 16384 !== 0) {
    refusals.add('pool_dataset_create.volsize', 'Volume size should be a multiple of volume block size');
  }
  refusals.check();
  const dataset = newDataset(name, 'VOLUME');
  dataset.properties.set('volsize', String(bytes));
  dataset.properties.set('volblocksize', '16384');
  dataset.properties.set('refreservation', String(thickReservation(bytes, 16384)));
  nas.datasets.set(name, dataset);
  await materialize(nas, dataset);
}

async function deleteDevice(nas: Nas, id: unknown, options: typeof deletion): Promise<true> {
  const device = getDevice(nas, id);
  if (isActive(nas, getVm(nas, device.vm))) {
    throw new CallError('Please stop/resume associated VM before deleting VM device.');
  }
  try {
    await deleteBehind(nas, device, options);
  } catch (error) {
    if (!options.force || !(error instanceof CallError)) throw error;
  }
  nas.devices.delete(device.id);
  nas.events.emit({ collection: 'vm.device.query', msg: 'removed', id: device.id });
  return true;
}

async function deleteBehind(nas: Nas, device: Device, options: typeof deletion): Promise<void> {
  const { dtype } = device.attributes;
  const path = pathOf(device);
  if (options.zvol) {
    if (dtype !== 'DISK') throw new CallError('The device is not a disk and has no zvol to destroy.');
    const dataset = nas.datasets.get(zvolName(path));
    if (dataset && isBusy(nas, dataset)) {
      const message = `Failed to delete dataset: cannot destroy '${dataset.id}': dataset is busy`;
      throw new CallError(message, errnos.EBUSY);
    }
    if (dataset) await destroyTree(nas, dataset);
  }
  if (!options.raw_file) return;
  if (dtype !== 'RAW') throw new CallError('Device is not of RAW type.');
  try {
    await unlink(realPath(nas, path));
    nas.fileMarks.delete(path);
  } catch {
    throw new CallError(`Failed to destroy ${path}`);
  }
}
