import { done, type Step } from '../../../engine/platform.ts';
import { cardsOf, noteBridges } from '../cards.ts';
import { withChosenPool } from '../choose-pool.ts';
import { endpointOf } from '../config.ts';
import { dataDisksOf, disksFact, foldersElsewhere } from '../data-disks.ts';
import { noteDisplay } from '../display.ts';
import { isEncrypted, noteEncryption } from '../encrypted.ts';
import { identityOf } from '../identity.ts';
import { poolsCalled, rootsFact } from '../made-here.ts';
import { pinAll } from '../pinned-roots.ts';
import { type Context, systemOf } from '../system.ts';

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

/** Where all of the machine will lie, with the guids of the pools: another system, or another pool of that name, is told by them. */
async function pinnedRoots(placed: Context): Promise<readonly string[]> {
  const { dataset } = identityOf(placed);
  const roots = [dataset, ...foldersElsewhere(dataDisksOf(placed), dataset)];
  const names = roots.map((id) => id.split('/')[0] ?? '');
  return pinAll(await poolsCalled(systemOf(placed), names), roots);
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
    const chosen = { ...context, config: await withChosenPool(context) };
    const roots = await pinnedRoots(chosen);
    const { address, prefix, gateway, assignment } = await context.addresses.claim([system, ...roots].join(' '));
    const network = {
      address,
      prefix,
      ...(gateway === undefined ? {} : { gateway }),
      ...(assignment ? { assignment } : {}),
    };
    const placed = { ...chosen, facts: { ...context.facts, ...network } };
    const identity = identityOf(placed);
    const { vmName, dataset, uuid, mac } = identity;
    const more = {
      ...disksFact(dataDisksOf(placed)),
      ...rootsFact(roots),
      ...noteBridges(cardsOf(context, identity)),
      ...noteDisplay(context),
      ...noteEncryption(context),
    };
    if (typeof context.facts['uuid'] !== 'string') noteNewcomer(placed);
    return done({ ...network, system, vm: vmName, dataset, uuid, mac, ...more });
  },
};
