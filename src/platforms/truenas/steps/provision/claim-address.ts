import { done, type Step } from '../../../../engine/step.ts';
import { SystemInformer } from '../../cache/system-informer.ts';
import { withChosenPool } from '../../capacity/choose-pool.ts';
import { additionalCardsOf, toBridgesFact } from '../../config/cards.ts';
import { systemEndpointOf } from '../../config/config.ts';
import { toDisplayFact } from '../../config/display.ts';
import { isEncrypted, toEncryptionFact } from '../../config/encrypted.ts';
import { toRootsFact } from '../../resources/dataset/absence-proof.ts';
import { toDatasetRefs } from '../../resources/dataset/dataset-ref.ts';
import { dataDisksOf, filesystemsOnOtherPools, toDisksFact } from '../../resources/disk/data-disks.ts';
import { vmIdentityOf } from '../../resources/identity.ts';
import { machineScopeOf, type TrueNasStepContext } from '../../resources/machine-scope.ts';

/**
 * Without recorded facts nothing was created, so the datasets count as missing unless they are known. If the first one
 * exists all the same, its creation fails and reads it. With encryption nothing is assumed, because an existing dataset may need an
 * existing key.
 */
function assumeDatasetsMissing(placed: TrueNasStepContext): void {
  if (isEncrypted(placed)) return;
  const { dataset } = vmIdentityOf(placed);
  for (const id of [dataset, ...filesystemsOnOtherPools(dataDisksOf(placed), dataset)]) {
    SystemInformer.of(machineScopeOf(placed).nas).datasets.assumeMissing(id);
  }
}

/** The datasets of the machine with the guids of their pools, which identify the system and the pools. */
async function readRootRefs(placed: TrueNasStepContext): Promise<readonly string[]> {
  const { dataset } = vmIdentityOf(placed);
  const roots = [dataset, ...filesystemsOnOtherPools(dataDisksOf(placed), dataset)];
  const names = roots.map((id) => id.split('/')[0] ?? '');
  const { nas, signal } = machineScopeOf(placed);
  return toDatasetRefs(await SystemInformer.of(nas).poolsNamed(names, signal), roots);
}

/**
 * Before: nothing. After: the machine has an address, and the facts record how it gets it, the chosen pool, and the
 * names of all objects to create. Done when all are in the facts; the claim itself may be repeated.
 */
export const addressClaimed: Step<TrueNasStepContext> = {
  name: 'address-claimed',
  async run(context) {
    const system = systemEndpointOf(context.config).host;
    const chosen = { ...context, config: await withChosenPool(context) };
    const roots = await readRootRefs(chosen);
    const { address, prefix, gateway, assignment } = await context.addresses.claim([system, ...roots].join(' '));
    const network = {
      address,
      prefix,
      ...(gateway === undefined ? {} : { gateway }),
      ...(assignment ? { assignment } : {}),
    };
    const placed = { ...chosen, facts: { ...context.facts, ...network } };
    const identity = vmIdentityOf(placed);
    const { vmName, dataset, uuid, mac, providerId } = identity;
    const more = {
      ...toDisksFact(dataDisksOf(placed)),
      ...toRootsFact(roots),
      ...toBridgesFact(additionalCardsOf(context, identity)),
      ...toDisplayFact(context),
      ...toEncryptionFact(context),
    };
    if (typeof context.facts['uuid'] !== 'string') assumeDatasetsMissing(placed);
    return done({ ...network, system, vm: vmName, dataset, uuid, mac, providerId, ...more });
  },
};
