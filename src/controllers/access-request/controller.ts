import { AccessRequest } from '../../api/openmcp/types.ts';
import type { ReconcileContext, ReconcileResult } from '../../kube/controller/controller.ts';
import type { ObjectKey } from '../../kube/resource.ts';
import { decideConditionEvents, recordConditionEvents } from '../shared/condition-events.ts';
import { patchStatusIfExists } from '../shared/objects.ts';
import type { Services } from '../shared/services.ts';
import { newestKnown } from '../shared/status-writes.ts';
import { actOnAccessRequest } from './act.ts';
import { decideAccessRequest } from './decide.ts';
import type { AccessRequestReport, DecisionTime } from './decision.ts';
import { secondsUntilResync } from './resync-interval.ts';
import { type AccessOptions, type AccessRequestView, viewAccessRequest } from './view.ts';

type AccessRequestContext = Pick<ReconcileContext, 'signal' | 'log'>;

/** Grants access exactly as requested, renews it in time and revokes it completely. */
export async function reconcileAccessRequest(
  services: Services,
  options: AccessOptions,
  key: ObjectKey,
  context: AccessRequestContext,
): Promise<ReconcileResult> {
  const cached = services.stores.accessRequests.get(key);
  if (!cached) return {};
  const found = newestKnown(services.kube, AccessRequest, cached);
  let view = viewAccessRequest(services, options, found);
  for (;;) {
    const decision = decideAccessRequest(view, timeOf(services));
    if (decision.kind === 'settled') return await publishReport(services, view, decision.report, context);
    const next = await actOnAccessRequest(services, view, decision, context);
    if (!next) return {};
    view = next;
  }
}

const timeOf = ({ clock }: Services): DecisionTime => ({
  now: clock.now(),
  secondsUntilResync: secondsUntilResync(clock),
});

async function publishReport(
  services: Services,
  { request }: AccessRequestView,
  { requeueAfterSeconds, status, warning, log }: AccessRequestReport,
  context: AccessRequestContext,
): Promise<ReconcileResult> {
  if (warning) services.events.record(warning.about, 'Warning', warning.reason, warning.message);
  if (log) context.log[log.level](log.fields, log.message);
  // The operator resets the phase when the spec changes. If our `Granted` replaced its value, operator and provider
  // would both ignore the request from then on.
  if (status) {
    await patchStatusIfExists(services.kube, AccessRequest, request, status, context.signal, { locked: true });
    const changes = decideConditionEvents(['Ready'], request.status?.conditions, status.conditions);
    // The first grant is an Event with the name of its Secret.
    const recorded = [...(request.status?.secretRef ? [] : ['Ready']), ...(warning ? [warning.reason] : [])];
    if (!request.metadata.deletionTimestamp) recordConditionEvents(services.events, request, changes, recorded);
  }
  return requeueAfterSeconds === undefined ? {} : { requeueAfterSeconds };
}
