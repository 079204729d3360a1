import { Machine } from '../../api/machine.ts';
import { annotations, diskKeySecretName, finalizers } from '../../api/names.ts';
import type { AdvanceResult } from '../../engine/advance.ts';
import type { ReconcileResult } from '../../kube/controller/controller.ts';
import { ProviderError } from '../../lib/errors.ts';
import { removeFinalizer } from '../shared/objects.ts';
import type { Services } from '../shared/services.ts';

/** Consecutive failed attempts before the annotation takes effect: the system of the failure domain may be booting. */
const minAttempts = 3;

/**
 * Whether a Machine in deletion is released without touching its platform. It needs the user's annotation that its
 * failure domain is lost, and an error that agrees with it. The annotation has no effect while the failure domain
 * answers and is the one in which the Machine was created.
 */
export function mayAbandonMachine(
  { platforms }: Pick<Services, 'platforms'>,
  { metadata, spec }: Machine,
  stop: AdvanceResult | ProviderError,
): boolean {
  if (metadata.annotations?.[annotations.failureDomainLost] !== 'true') return false;
  // Only the ProviderConfig holds the URL and the credentials of a failure domain.
  const lost = [
    'PROVIDER_CONFIG_MISSING',
    ...(platforms.find(({ name }) => name === spec.platform)?.loss?.lostReasons ?? []),
  ];
  return lost.includes(stopReasonOf(stop) ?? '');
}

/** The reason or error code that stops the release; undefined while it can continue. */
function stopReasonOf(stop: AdvanceResult | ProviderError): string | undefined {
  if (stop instanceof ProviderError) return stop.code;
  if (stop.kind === 'failed') return stop.reason;
  const isError = stop.kind === 'error' && stop.progress.failures >= minAttempts;
  return isError && stop.error instanceof ProviderError ? stop.error.code : undefined;
}

/**
 * Removes the finalizer and records what is left. The address and the disk key are retained, because they may still be
 * in use.
 */
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
    'Its failure domain was declared lost: nothing was deleted there.',
    ...(left.length > 0 ? [`Possibly left there: ${left.join(', ')}.`] : []),
    ...(kept.length > 0 ? [`Therefore, ${kept.join(', and ')}.`] : []),
  ];
  events.record(machine, 'Warning', 'GivenUp', message.join(' '));
  const current = await kube.find(Machine, { name }, signal);
  if (current) await removeFinalizer(kube, Machine, current, finalizers.machine, signal);
  return {};
}
