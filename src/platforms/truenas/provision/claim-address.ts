import { done, type Step } from '../../../engine/platform.ts';
import { cardsOf, noteBridges } from '../cards.ts';
import { withChosenPool } from '../choose-pool.ts';
import { endpointOf } from '../config.ts';
import { dataDisksOf, disksFact, foldersElsewhere } from '../data-disks.ts';
import { noteDisplay } from '../display.ts';
import { isEncrypted, noteEncryption } from '../encrypted.ts';
import { identityOf } from '../identity.ts';
import type { Context } from '../system.ts';

/**
 * What was never written down was never made: who finds its first dataset there all the same is told so by its creation, and looks
 * then. Nothing is taken for granted where a key may be kept of what is there.
 */
function noteNewcomer(placed: Context): void {
  if (isEncrypted(placed)) return;
  const { dataset } = identityOf(placed);
  for (const id of [dataset, ...foldersElsewhere(dataDisksOf(placed), dataset)]) {
    placed.handover?.noteDataset(id, undefined);
  }
}

/**
 * Before: nothing. After: the machine has an address, and the names of everything that will be made for it are written
 * down, the pool that it is put on among them, and how it comes by its address. Done when both are in the facts; the claim
 * itself may repeat.
 */
export const addressClaimed: Step<Context> = {
  name: 'address-claimed',
  async run(context) {
    const system = endpointOf(context.config).host;
    const { address, prefix, gateway, assignment } = await context.addresses.claim(system);
    const network = {
      address,
      prefix,
      ...(gateway === undefined ? {} : { gateway }),
      ...(assignment ? { assignment } : {}),
    };
    const placed = { ...context, facts: { ...context.facts, ...network }, config: await withChosenPool(context) };
    const identity = identityOf(placed);
    const { vmName, dataset, uuid, mac } = identity;
    const more = {
      ...disksFact(dataDisksOf(placed)),
      ...noteBridges(cardsOf(context, identity)),
      ...noteDisplay(context),
      ...noteEncryption(context),
    };
    if (typeof context.facts['uuid'] !== 'string') noteNewcomer(placed);
    return done({ ...network, system, vm: vmName, dataset, uuid, mac, ...more });
  },
};
