import { z } from 'zod';
import { done, fail, type NodeHardware, type Outcome, type Step, wait } from '../../engine/platform.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { TrueNas } from './client.ts';
import { endpointOf } from './config.ts';
import { hasCode } from './errors.ts';
import { identityOf } from './identity.ts';
import { checkImage, findImage, imageOf, transferImage } from './image.ts';
import { describeDevices, describeVm, differences, firstToBoot, type WantedDevice } from './machine.ts';
import { Vm, type VmDevice } from './schema.ts';
import { buildSeed } from './seed.ts';
import {
  type Context,
  ensureDataset,
  factOf,
  findDataset,
  findFile,
  findVm,
  foreign,
  getVm,
  isActive,
  type System,
  sizeOf,
  systemOf,
} from './system.ts';
import { Transfers } from './transfers.ts';
import { upload } from './upload.ts';

/**
 * Before: nothing. After: the machine has an address, and the names of everything that will be made for it are written
 * down. Done when both are in the facts; the claim itself may repeat.
 */
const addressClaimed: Step<Context> = {
  name: 'address-claimed',
  async run(context) {
    const { address, prefix, gateway } = await context.addresses.claim();
    const { vmName, dataset, uuid, mac } = identityOf(context);
    const system = endpointOf(context.config).host;
    return done({ address, prefix, gateway, system, vm: vmName, dataset, uuid, mac });
  },
};

/**
 * Before: the schematic is known. After: its boot image lies on the system, complete. Done when the note of its size is on
 * its dataset and the file is as noted. One copy for all machines; the rest waits.
 */
const imageCached: Step<Context> = {
  name: 'image-cached',
  deadlineMinutes: 45,
  async run(context) {
    const image = imageOf(context);
    const { nas } = systemOf(context);
    const transfers = transfersOf(context, nas);
    const running = transfers.progress(image.dataset);
    if (running) return wait(2, copying(running.percent));
    const record = await findImage(context, image);
    if (record) return done({ image: image.path, imageBytes: record.bytes, imageModified: record.modified });
    transfers.start(image.dataset, (signal, progress) => transferImage(context, image, signal, progress));
    return wait(1, copying(undefined));
  },
};

const copying = (percent: number | undefined) =>
  `The boot image is being copied from the image factory to the TrueNAS system${percent === undefined ? '' : `: ${percent} %`}.`;

/** Before: names are written down. After: the machine's own dataset exists with our mark. Done when it is found. */
const datasetCreated: Step<Context> = {
  name: 'dataset-created',
  async run(context) {
    const system = systemOf(context);
    await ensureDataset(system, system.identity.dataset, { type: 'FILESYSTEM', create_ancestors: true });
    return done();
  },
};

/**
 * Before: the dataset exists. After: the boot disk exists, empty, with our mark and its room reserved. Done when it is found.
 * It never empties a disk. One that a joined member has lost is not replaced: that is for the cluster to decide.
 */
const diskCreated: Step<Context> = {
  name: 'disk-created',
  async run(context) {
    const system = systemOf(context);
    const { zvol } = system.identity;
    if (context.facts['joined'] === true && !(await findDataset(system, zvol))) {
      return fail('DiskLost', `The disk ${zvol} of this member is gone. Delete the Machine to have it made anew.`);
    }
    const volsize = sizeOf(context).diskGiB * 2 ** 30;
    await ensureDataset(system, zvol, { type: 'VOLUME', volsize });
    return done();
  },
};

/**
 * Before: address and dataset. After: the seed with the whole machine configuration lies in the dataset. Done when a file
 * of its name, which follows from its content, has its size.
 */
const seedWritten: Step<Context> = {
  name: 'seed-written',
  async run(context) {
    const system = systemOf(context);
    const hardware = describeHardware(context);
    const [link] = hardware.links;
    if (!link) throw new ProviderError('INTERNAL', 'A machine without a network card.');
    const machineConfig = await context.machineConfig(hardware);
    const { fileName, image } = buildSeed({
      hostname: context.node.name,
      instanceId: system.identity.uuid,
      link,
      machineConfig,
    });
    const path = `/mnt/${system.identity.dataset}/${fileName}`;
    if ((await findFile(system, path))?.size !== image.length) {
      const content = (async function* () {
        yield image;
      })();
      const { signal } = context;
      // The hypervisor reads it as another user, and TrueNAS refuses a CD-ROM that it cannot read.
      await upload(system.nas, context, { path, mode: 0o644, bytes: image.length, content, signal, seconds: 120 });
      const found = await findFile(system, path);
      if (found?.size !== image.length) throw new ProviderError('TRUENAS_UPLOAD_FAILED', `${path} is not complete.`);
    }
    return done({ seed: path });
  },
};

/** What the machine configuration is made for: one VirtIO disk and one VirtIO card. */
function describeHardware(context: Context): NodeHardware {
  const { mac, providerId } = identityOf(context);
  const addresses = [`${factOf(context, 'address')}/${context.facts['prefix']}`];
  return {
    installDisk: '/dev/vda',
    imagePlatform: 'nocloud',
    links: [{ mac, addresses, gateway: factOf(context, 'gateway') }],
    providerId,
  };
}

/**
 * Before: names. After: a VM with our mark, without devices: TrueNAS takes those one by one. Done when a VM with our UUID is
 * found. One of our name that is not ours stops here.
 */
const vmCreated: Step<Context> = {
  name: 'vm-created',
  async run(context) {
    const system = systemOf(context);
    const found = await findVm(system);
    if (found.own) return done({ vmId: found.own.id });
    if (found.foreign) throw foreign(`It is the virtual machine ${found.foreign.name}`);
    const request = describeVm(system.identity, context.owner, context.node, sizeOf(context));
    const made = await system.nas.change('vm.create', [request], Vm, { signal: context.signal, seconds: 60 });
    return done({ vmId: made.id });
  },
};

/**
 * Before: disk, image and seed exist, and so does the VM. After: it has all its devices, each in its place. Done when none
 * is missing or different; others that somebody added are left alone.
 */
const devicesAttached: Step<Context> = {
  name: 'devices-attached',
  async run(context) {
    const system = systemOf(context);
    await attachMissing(context, system, await getVm(system));
    return done();
  },
};

/** In words what was missing or different and has been put right; empty when nothing was. */
async function attachMissing(context: Context, system: System, vm: Vm): Promise<readonly string[]> {
  const todo = wantedDevices(context).flatMap((one) => {
    const device = vm.devices.find((candidate) => one.matches(candidate));
    return device && differences(device, one).length === 0 ? [] : [{ one, device }];
  });
  if (todo.length === 0) return [];
  await checkImageAgain(context);
  // A machine that started without its devices, say because the system rebooted, does nothing useful.
  if (isActive(vm) && context.facts['started'] !== true) {
    await system.nas.change('vm.poweroff', [vm.id], z.unknown(), { signal: context.signal, seconds: 60 });
  }
  for (const { one, device } of todo) await attach(system, vm.id, one, device);
  return todo.map(({ one }) => one.what);
}

async function attach(system: System, vm: number, wanted: WantedDevice, device: VmDevice | undefined): Promise<void> {
  const { nas, signal } = system;
  const { order, attributes } = wanted;
  if (device) await nas.change('vm.device.update', [device.id, { order, attributes }], z.unknown(), { signal });
  else await nas.change('vm.device.create', [{ vm, order, attributes }], z.unknown(), { signal });
}

function wantedDevices(context: Context): readonly WantedDevice[] {
  const { zvol, dataset, mac } = identityOf(context);
  return describeDevices({
    zvol,
    images: imageOf(context).folder,
    image: factOf(context, 'image'),
    seeds: `/mnt/${dataset}`,
    seed: factOf(context, 'seed'),
    mac,
    bridge: context.config.bridge,
  });
}

async function checkImageAgain(context: Context): Promise<void> {
  const { imageBytes, imageModified } = context.facts;
  if (typeof imageBytes !== 'number' || typeof imageModified !== 'number') return;
  const file = await findFile(systemOf(context), factOf(context, 'image'));
  checkImage(imageOf(context), { bytes: imageBytes, modified: imageModified }, file);
}

/**
 * Before: devices were attached. After: it is certain that the machine has them all and boots from its disk as soon as
 * there is something on it. Done when a fresh look says so.
 */
const devicesVerified: Step<Context> = {
  name: 'devices-verified',
  async run(context) {
    const system = systemOf(context);
    const vm = await getVm(system);
    const mended = await attachMissing(context, system, vm);
    if (mended.length > 0) return wait(1, `${mended.join(', ')} had got lost or changed and is back.`);
    const disk = `/dev/zvol/${system.identity.zvol}`;
    const first = firstToBoot(vm.devices);
    if (first === disk) return done();
    return fail(
      'BootOrder',
      `${vm.name} would boot from ${first ?? 'nothing'} before its disk ${disk}. Give that device an order above 1501.`,
    );
  },
};

/** Before: the VM is complete. After: it runs. Done when it is found running. */
const poweredOn: Step<Context> = {
  name: 'powered-on',
  async run(context) {
    const { nas, ...system } = systemOf(context);
    const vm = await getVm({ nas, ...system });
    const options = { signal: context.signal, seconds: 120 };
    switch (vm.status.state) {
      case 'RUNNING':
        return done({ started: true });
      case 'SUSPENDED':
        await nas.change('vm.resume', [vm.id], z.unknown(), options);
        return done({ started: true });
      case 'STOPPED':
        await nas.change('vm.start', [vm.id, { overcommit: false }], z.unknown(), options);
        return done({ started: true });
      default:
        throw new ProviderError(
          'TRUENAS_VM_BROKEN',
          `${vm.name} is in state ${vm.status.state}: see the log of libvirt on ${nas.host}.`,
        );
    }
  },
};

function transfersOf(context: Context, nas: TrueNas): Transfers {
  return context.connections.get(
    `truenas-transfers:${nas.options.endpoint.socketUrl}`,
    () => new Transfers(context.clock, context.connections.signal),
  );
}

/** What belongs to others is said with the reason that all platforms share. */
export function sayWhenForeign(step: Step<Context>): Step<Context> {
  const run = async (context: Context): Promise<Outcome> => {
    try {
      return await step.run(context);
    } catch (error) {
      if (hasCode(error, 'OWNED_BY_OTHERS')) return fail('OwnedByOthers', error.message);
      throw error;
    }
  };
  return { ...step, run };
}

/** From nothing to a machine that boots Talos with its configuration. */
export const provision: readonly Step<Context>[] = [
  addressClaimed,
  imageCached,
  datasetCreated,
  diskCreated,
  seedWritten,
  vmCreated,
  devicesAttached,
  devicesVerified,
  poweredOn,
].map((step) => sayWhenForeign({ deadlineMinutes: 10, ...step }));
