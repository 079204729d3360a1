import { z } from 'zod';
import type { Orphan, OrphanContext } from '../../engine/orphans.ts';
import type { Owner } from '../../engine/platform.ts';
import { connect } from './client.ts';
import { endpointOf, type TrueNasConfig } from './config.ts';
import { type Identity, identityOf, isOwnVm, ownerOf, parseMark, sameOwner } from './identity.ts';
import { Dataset, Vm } from './schema.ts';

/** A boot image is of no Machine: a slash stands in the name that its mark has in place of one. */
const isMachineName = (name: string): boolean => /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(name);

/**
 * What carries our mark and names no Machine that is known. Two calls, which change nothing. Datasets count where machines of
 * this ProviderConfig are kept; a virtual machine without one where its disk would lie, or anywhere when it has none.
 */
export async function findOrphans(context: OrphanContext<TrueNasConfig>): Promise<readonly Orphan[]> {
  const { config, signal } = context;
  const nas = connect(context);
  const root = `${config.pool}/${config.datasetPrefix}`;
  const below = [[['id', '^', `${root}/`]], { extra: { retrieve_children: false } }];
  const [vms, datasets] = await Promise.all([
    nas.read('vm.query', [], z.array(Vm), { signal }),
    nas.read('pool.dataset.query', below, z.array(Dataset), { signal }),
  ]);
  const machines = new Set([...vms.map(markOnVm), ...datasets.map(ownerOf)].flatMap((owner) => nameIn(owner, context)));
  return [...machines].sort().flatMap((machine) => {
    const owner = { ...context.ours, machine };
    const kept = datasets.filter((dataset) => sameOwner(ownerOf(dataset), owner) && isKept(dataset, root));
    const run = vms.filter((vm) => isOwnVm(vm, owner));
    const isHere = kept.length > 0 || run.some((vm) => isDiskless(vm) || hasDiskBelow(vm, root));
    return isHere ? [describe(context, owner, kept, run)] : [];
  });
}

/** A description can be copied; the UUID that follows from it cannot be had by chance. */
function markOnVm(vm: Vm): Owner | undefined {
  const owner = parseMark(vm.description);
  return owner && isOwnVm(vm, owner) ? owner : undefined;
}

function nameIn(owner: Owner | undefined, { ours, isKnown }: OrphanContext): string[] {
  if (!owner || !sameOwner(owner, { ...ours, machine: owner.machine }) || !isMachineName(owner.machine)) return [];
  return isKnown(owner.machine) ? [] : [owner.machine];
}

/** Machines have a filesystem right below the prefix, and zvols in it. What lies deeper is of another prefix. */
const isKept = ({ id, type }: Dataset, root: string): boolean => depthBelow(id, root) === (type === 'VOLUME' ? 2 : 1);

const depthBelow = (id: string, root: string): number =>
  id.startsWith(`${root}/`) ? id.slice(root.length + 1).split('/').length : 0;

const disksOf = ({ devices }: Vm): string[] =>
  devices.flatMap(({ attributes: { dtype, path } }) => (dtype === 'DISK' && path ? [path] : []));
const isDiskless = (vm: Vm): boolean => disksOf(vm).length === 0;
const hasDiskBelow = (vm: Vm, root: string): boolean =>
  disksOf(vm).some((path) => depthBelow(path, `/dev/zvol/${root}`) === 2);

function describe(
  { config }: OrphanContext<TrueNasConfig>,
  owner: Owner,
  datasets: readonly Dataset[],
  vms: readonly Vm[],
): Orphan {
  const facts = { system: endpointOf(config).host, joined: true };
  const { vmName, dataset } = identityOf({ owner, config, facts });
  const doubt = describeDoubt({ dataset }, datasets);
  return {
    machine: owner.machine,
    what: [
      ...vms.map(({ name, status }) => `virtual machine ${name} (${status.state})`),
      ...datasets.map(({ id, type }) => `${type === 'VOLUME' ? 'zvol' : 'dataset'} ${id}`),
    ],
    runs: vms.some(({ status }) => status.state !== 'STOPPED'),
    ...(doubt ? { doubt } : {}),
    // A member is asked to shut down first; whether it was one nobody remembers.
    facts: { ...facts, vm: vmName, dataset },
  };
}

/** A copy that somebody made keeps the mark when it was sent and received with its properties. */
function describeDoubt({ dataset }: Pick<Identity, 'dataset'>, found: readonly Dataset[]): string | undefined {
  const others = found.filter(({ id }) => id !== dataset && !id.startsWith(`${dataset}/`)).map(({ id }) => id);
  if (others.length === 0) return undefined;
  return `${others.join(', ')} carries its mark and is not called ${dataset}, as what was made for it: it may be a copy. Move it out of there, or take its mark off.`;
}
