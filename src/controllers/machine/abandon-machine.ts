import { Machine } from '../../api/machine.ts';
import { annotations, diskKeySecretName, finalizers } from '../../api/names.ts';
import type { AdvanceResult } from '../../engine/advance.ts';
import type { ReconcileResult } from '../../kube/controller/controller.ts';
import { ProviderError } from '../../lib/errors.ts';
import { removeFinalizer } from '../shared/objects.ts';
import type { Services } from '../shared/services.ts';

/** So often in a row a place may not have answered before a person's word counts: it may only be on its way up. */
const minAttempts = 3;

/**
 * Whether a Machine that is to be taken down is let go as it is: a person has said that its place is gone for good, and nothing says
 * otherwise. As long as the place answers and is the one that it was made at, the word is without effect.
 */
export function mayAbandonMachine(
  { platforms }: Pick<Services, 'platforms'>,
  { metadata, spec }: Machine,
  stop: AdvanceResult | ProviderError,
): boolean {
  if (metadata.annotations?.[annotations.placeLost] !== 'true') return false;
  // Where a place is and how to enter it is known from the ProviderConfig alone.
  const lost = ['PROVIDER_CONFIG_MISSING', ...(platforms.find(({ name }) => name === spec.platform)?.lostWhen ?? [])];
  return lost.includes(stopReasonOf(stop) ?? '');
}

/** The reason or code with which it goes no further; undefined while it may. */
function stopReasonOf(stop: AdvanceResult | ProviderError): string | undefined {
  if (stop instanceof ProviderError) return stop.code;
  if (stop.kind === 'failed') return stop.reason;
  const isError = stop.kind === 'error' && stop.progress.failures >= minAttempts;
  return isError && stop.error instanceof ProviderError ? stop.error.code : undefined;
}

/** Lets it go, and tells what was not touched. Its address and its key stay: nobody knows that nothing uses them any more. */
export async function abandonMachine(
  services: Services,
  machine: Machine,
  signal: AbortSignal,
): Promise<ReconcileResult> {
  const { kube, events, namespace } = services;
  const { name } = machine.metadata;
  const { facts = {}, address } = { ...machine.status?.progress, address: machine.status?.address };
  const left = ['system', 'vm', 'dataset'].flatMap((fact) => (fact in facts ? [`${fact} ${facts[fact]}`] : []));
  const kept = [
    ...(address === undefined ? [] : [`the address ${address} stays claimed (Lease in namespace ${namespace})`]),
    ...(facts['encrypted'] === true ? [`the Secret ${diskKeySecretName(name)} stays`] : []),
  ];
  const message = [
    'A person has said that its place is gone: nothing was touched there.',
    ...(left.length > 0 ? [`What may be left: ${left.join(', ')}.`] : []),
    ...(kept.length > 0 ? [`For that ${kept.join(', and ')}.`] : []),
  ];
  events.record(machine, 'Warning', 'GivenUp', message.join(' '));
  const current = await kube.find(Machine, { name }, signal);
  if (current) await removeFinalizer(kube, Machine, current, finalizers.machine, signal);
  return {};
}
