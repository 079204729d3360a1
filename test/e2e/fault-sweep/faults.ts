import type { Fault, InterceptedCall } from '../../world/faults/call-interceptor.ts';
import type { FaultInjector } from './fault-sweep.ts';

/** The same error in protocols other than HTTP. */
interface ProtocolErrors {
  readonly nas: Fault;
  /** A gRPC code. */
  readonly talos: string;
}

const isHttp = ({ simulator, name }: InterceptedCall): boolean =>
  simulator !== 'talos' && (simulator !== 'truenas' || / \/_(up|down)load$/.test(name));

/** An HTTP status, and its equivalents in the other protocols. */
const errorInjector = (
  status: number,
  others: ProtocolErrors,
  headers: Record<string, string> = {},
): FaultInjector => ({
  strike: (call) => {
    if (isHttp(call)) return { kind: 'error', status, headers };
    return call.simulator === 'talos' ? { kind: 'error', code: others.talos } : others.nas;
  },
});

const broken: Fault = { kind: 'error', code: 'EFAULT', body: 'It broke' };
const busy: Fault = { kind: 'error', code: 'EBUSY', body: 'It is busy' };
const tooMany: Fault = { kind: 'error', body: { code: -32000, message: 'Too many concurrent calls', data: null } };

/** Faults without delay. */
export const immediateFaults = {
  /** A connection that drops before the work is done. */
  drop: { strike: () => ({ kind: 'drop' }) },
  /** A reply that is lost after the work was done. */
  lost: { strike: () => ({ kind: 'lose-reply' }) },
  broken: errorInjector(503, { nas: broken, talos: 'Internal' }),
  tooMany: errorInjector(429, { nas: tooMany, talos: 'ResourceExhausted' }, { 'retry-after': '2' }),
  busy: errorInjector(409, { nas: busy, talos: 'Aborted' }),
} as const satisfies Readonly<Record<string, FaultInjector>>;

/** Longer than the deadlines of most calls. */
const silentSeconds = 35;

/** Calls without a change: their execution has no effect. */
const isRead = (name: string): boolean =>
  /^(kube|workload|image-factory|robot) (GET|WATCH) /.test(name) ||
  /^truenas (auth\.|core\.|GET \/_download|system\.|\S+\.query|filesystem\.stat|vm\.\S+_(choices|details))/.test(
    name,
  ) ||
  /^talos (?!\S+\/Bootstrap)/.test(name);

/**
 * Half a minute without an answer. The requested change takes effect meanwhile. `speedup`: the factor by which deadlines
 * and silences are shorter. Several clusters in one process need a small one: deadlines of a few hundred milliseconds also
 * end calls that a busy machine only delays.
 */
export const silentFaultAt = (speedup: number) => ({
  /** Several runs share one process: it may pause for longer than the margin of a Lease of the usual length. */
  manner: { hasteOfDeadlines: speedup, leaseSeconds: 45 },
  striker: {
    strike: (_call, name) => ({
      kind: 'silence',
      milliseconds: (silentSeconds / speedup) * 1000,
      done: !isRead(name),
    }),
  } satisfies FaultInjector as FaultInjector,
});

/** For scenarios of few calls at a time. */
export const silentFault = silentFaultAt(60);
