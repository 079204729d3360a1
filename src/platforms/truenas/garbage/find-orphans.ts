import { z } from 'zod';
import type { Orphan, OrphanContext } from '../../../engine/capabilities/orphans.ts';
import type { Owner } from '../../../engine/node.ts';
import type { Facts } from '../../../engine/step.ts';
import { connectTrueNas } from '../api/client.ts';
import { Dataset, Pool, Vm } from '../api/schema.ts';
import { candidatePoolsOf } from '../capacity/choose-pool.ts';
import { systemEndpointOf, type TrueNasConfig } from '../config/config.ts';
import { toRootsFact } from '../resources/dataset/absence-proof.ts';
import { toDatasetRefs } from '../resources/dataset/dataset-ref.ts';
import { filesystemsOnOtherPools, namedPools, recordedDisks, toDisksFact } from '../resources/disk/data-disks.ts';
import { isOwnVm, isSameOwner, ownerOf, parseMark, vmIdentityOf } from '../resources/identity.ts';

/** The mark of a boot image has a name with a slash, which no Machine can have. */
const isMachineName = (name: string): boolean => /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(name);

/**
 * Objects with our mark whose Machine is unknown. Two read-only calls, and one more where something is found: an orphan
 * is removed only from the pools that it was found on. Datasets count below the prefixes of this ProviderConfig. A
 * virtual machine without datasets counts when its disk is below them, or when it has no disk.
 */
export async function findOrphans(context: OrphanContext<TrueNasConfig>): Promise<readonly Orphan[]> {
  const { config, signal } = context;
  const nas = connectTrueNas(context);
  const places = orphanRootsOf(config);
  const below = places.all.map((root) => ['id', '^', `${root}/`]);
  const parameters = [below.length > 1 ? [['OR', below]] : below, { extra: { retrieve_children: false } }];
  const [vms, datasets] = await Promise.all([
    nas.read('vm.query', [], z.array(Vm), { signal }),
    nas.read('pool.dataset.query', parameters, z.array(Dataset), { signal }),
  ]);
  const machines = new Set(
    [...vms.map(ownerOfVm), ...datasets.map(ownerOf)].flatMap((owner) => unknownMachineIn(owner, context)),
  );
  if (machines.size === 0) return [];
  const pools = await nas.read('pool.query', [], z.array(Pool), { signal });
  return [...machines].sort().flatMap((machine) => {
    const owner = { ...context.instance, machine };
    const kept = datasets.filter(
      (dataset) => isSameOwner(ownerOf(dataset), owner) && isMachineDataset(dataset, places),
    );
    const run = vms.filter((vm) => isOwnVm(vm, owner));
    return isOfThisConfig(kept, run, places) ? [toOrphan({ ...context, pools }, owner, kept, run)] : [];
  });
}

/** A description can be copied, but the UUID that follows from it cannot match by chance. */
function ownerOfVm(vm: Vm): Owner | undefined {
  const owner = parseMark(vm.description);
  return owner && isOwnVm(vm, owner) ? owner : undefined;
}

function unknownMachineIn(owner: Owner | undefined, { instance, isKnown }: OrphanContext): string[] {
  if (!owner || !isSameOwner(owner, { ...instance, machine: owner.machine }) || !isMachineName(owner.machine))
    return [];
  return isKnown(owner.machine) ? [] : [owner.machine];
}

/** Parent datasets of machines, and of their data disks. */
interface OrphanRoots {
  readonly folders: readonly string[];
  readonly all: readonly string[];
}

function orphanRootsOf(config: TrueNasConfig): OrphanRoots {
  const rootOf = (pool: string) => `${pool}/${config.datasetPrefix}`;
  const all = [...new Set(namedPools(config).map(({ pool }) => rootOf(pool)))];
  return { folders: candidatePoolsOf(config).map(rootOf), all };
}

/** A machine has a filesystem directly below the prefix, with zvols in it. Deeper datasets belong to another prefix. */
const isMachineDataset = ({ id, type }: Dataset, { all }: OrphanRoots): boolean =>
  all.some((root) => depthBelow(id, root) === (type === 'VOLUME' ? 2 : 1));

const depthBelow = (id: string, root: string): number =>
  id.startsWith(`${root}/`) ? id.slice(root.length + 1).split('/').length : 0;

/** A boot disk on another pool belongs to another ProviderConfig with machines there. */
function isOfThisConfig(datasets: readonly Dataset[], vms: readonly Vm[], { folders: homes }: OrphanRoots): boolean {
  if (datasets.some(({ id }) => homes.some((home) => depthBelow(id, home) > 0))) return true;
  if (vms.some((vm) => diskPathsOf(vm).length === 0 || homes.some((home) => hasDiskBelow(vm, home)))) return true;
  return datasets.length > 0 && vms.length === 0 && !datasets.some(({ id }) => id.endsWith('/boot'));
}

const diskPathsOf = ({ devices }: Vm): string[] =>
  devices.flatMap(({ attributes: { dtype, path } }) => (dtype === 'DISK' && path ? [path] : []));
const hasDiskBelow = (vm: Vm, root: string): boolean =>
  diskPathsOf(vm).some((path) => depthBelow(path, `/dev/zvol/${root}`) === 2);

function toOrphan(
  { config, pools }: Pick<OrphanContext<TrueNasConfig>, 'config'> & { readonly pools: readonly Pool[] },
  owner: Owner,
  datasets: readonly Dataset[],
  vms: readonly Vm[],
): Orphan {
  // Members are shut down first. It is unknown whether this machine was a member.
  const facts = { system: systemEndpointOf(config).host, joined: true };
  const { vmName, dataset: usual } = vmIdentityOf({ owner, config, facts });
  const otherFolders = orphanRootsOf(config).all.map((root) => `${root}/${vmName}`);
  // Of several pools, the one with the boot disk is the machine's.
  const dataset = otherFolders.find((folder) => datasets.some(({ id }) => id === `${folder}/boot`)) ?? usual;
  const disks = toOrphanDisksFact(datasets, dataset);
  const foldersOnOtherPools = filesystemsOnOtherPools(recordedDisks(disks), dataset);
  const uncertainty = describeUncertainty(dataset, otherFolders, datasets);
  return {
    machine: owner.machine,
    resources: [
      ...vms.map(({ name, status }) => `virtual machine ${name} (${status.state})`),
      ...datasets.map(({ id, type }) => `${type === 'VOLUME' ? 'zvol' : 'dataset'} ${id}`),
    ],
    isRunning: vms.some(({ status }) => status.state !== 'STOPPED'),
    ...(uncertainty ? { uncertainty } : {}),
    facts: {
      ...facts,
      vm: vmName,
      dataset,
      ...disks,
      ...toRootsFact(toDatasetRefs(pools, [dataset, ...foldersOnOtherPools])),
    },
  };
}

/**
 * The fact as it was recorded at creation; sizes do not matter here. A filesystem on another pool may be empty by now.
 */
function toOrphanDisksFact(datasets: readonly Dataset[], home: string): Facts {
  const disks = datasets.flatMap(({ id, type }) => {
    const [, folder, name] = type === 'VOLUME' ? (/^(.+)\/disk-([^/]+)$/.exec(id) ?? []) : ['', id, 'none'];
    const isEmptyHome = type !== 'VOLUME' && folder === home;
    return folder === undefined || name === undefined || isEmptyHome
      ? []
      : [{ folder, name, id: `${folder}/disk-${name}` }];
  });
  return toDisksFact(disks.map(({ folder, name, id }) => ({ folder, name, zvol: id, sizeGiB: 1, raw: true })));
}

/** A copy by send and receive with properties keeps the mark. */
function describeUncertainty(home: string, folders: readonly string[], found: readonly Dataset[]): string | undefined {
  const isMade = ({ id }: Dataset): boolean =>
    id === `${home}/boot` || folders.includes(id) || folders.some((folder) => id.startsWith(`${folder}/disk-`));
  const others = found.filter((dataset) => !isMade(dataset)).map(({ id }) => id);
  if (others.length === 0) return undefined;
  return `${others.join(', ')} has its mark but not a name of its resources, which are in ${home}: it may be a copy. Move it, or remove its mark.`;
}
