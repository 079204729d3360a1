import type { Fault, InterceptedCall } from '../../world/faults/call-interceptor.ts';
import type { FaultInjector } from './fault-sweep.ts';

/** What an error is called by whoever is not asked over HTTP. */
interface ProtocolErrors {
  readonly nas: Fault;
  /** A gRPC code. */
  readonly talos: string;
}

const isHttp = ({ room, name }: InterceptedCall): boolean =>
  room !== 'talos' && (room !== 'truenas' || / \/_(up|down)load$/.test(name));

/** An HTTP status, and what says the same in the other protocols. */
const errorInjector = (
  status: number,
  others: ProtocolErrors,
  headers: Record<string, string> = {},
): FaultInjector => ({
  strike: (call) => {
    if (isHttp(call)) return { kind: 'error', status, headers };
    return call.room === 'talos' ? { kind: 'error', code: others.talos } : others.nas;
  },
});

const broken: Fault = { kind: 'error', code: 'EFAULT', body: 'It broke' };
const busy: Fault = { kind: 'error', code: 'EBUSY', body: 'It is busy' };
const tooMany: Fault = { kind: 'error', body: { code: -32000, message: 'Too many concurrent calls', data: null } };

/** Faults that cost no time. */
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
/** By how much deadlines and silences are shorter. */
const deadlineSpeedup = 60;

/** Calls that change nothing, so that nobody can tell whether they were carried out. */
const isRead = (name: string): boolean =>
  /^(kube|workload|image-factory|robot) (GET|WATCH) /.test(name) ||
  /^truenas (auth\.|core\.|GET \/_download|system\.|\S+\.query|filesystem\.stat|vm\.\S+_(choices|details))/.test(
    name,
  ) ||
  /^talos (?!\S+\/Bootstrap)/.test(name);

/** Half a minute in which nothing is heard. What was to be done is done meanwhile. */
export const silentFault = {
  haste: deadlineSpeedup,
  striker: {
    strike: (_call, name) => ({
      kind: 'silence',
      milliseconds: (silentSeconds / deadlineSpeedup) * 1000,
      done: !isRead(name),
    }),
  } satisfies FaultInjector as FaultInjector,
};
