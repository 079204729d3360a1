import type { Fault, InterceptedCall } from '../../world/faults/call-interceptor.ts';
import { isProviderCall } from '../support/observation/provider-calls.ts';
import type { Testbed } from '../support/testbed/testbed.ts';
import { CallNaming } from './call-naming.ts';

/** Decides what happens to calls that come for the first time. */
export interface FaultInjector {
  /** `undefined` leaves the call alone; it may be asked about the next one of that name. */
  strike(call: InterceptedCall, name: string): Fault | undefined;
  /** Resolves when everything that the strikes have set off is over. */
  settled?(): Promise<void>;
}

/** Leaves all other calls alone. */
export const restrictTo = (due: (name: string) => boolean, striker: FaultInjector): FaultInjector => ({
  strike: (call, name) => (due(name) ? striker.strike(call, name) : undefined),
  settled: async () => await striker.settled?.(),
});

/** One call that was struck. */
interface InjectedFault {
  readonly number: number;
  readonly at: Date;
  readonly act: string;
  readonly name: string;
  readonly kind: Fault['kind'];
}

/** Of nodes, among themselves. */
const isNodeCall = (call: InterceptedCall): boolean =>
  (call.room === 'talos' && /^(installer|securityapi\.)/.test(call.name)) ||
  (call.room === 'image-factory' && /^GET \/(v2|schematics)\//.test(call.name));

/** `SWEEP_ONLY=REGEX` strikes only calls of such a name, to find out which of them breaks a life. */
const selectedNames = new RegExp(process.env['SWEEP_ONLY'] ?? '');

/** Strikes every call of the provider when it comes for the first time, and writes down what it saw and did. */
export class FaultSweep {
  /** Names of all calls that came. */
  readonly seen = new Set<string>();
  readonly strikes: InjectedFault[] = [];
  /** Whether calls are left alone and not written down, because the test makes calls like the provider's. */
  isPaused = false;
  readonly #naming: CallNaming;
  readonly #struck = new Set<string>();
  readonly #striker: FaultInjector | undefined;
  readonly #leave: () => void;

  constructor(stage: Testbed, striker?: FaultInjector, naming = new CallNaming()) {
    this.#naming = naming;
    this.#striker = striker;
    this.#leave = stage.world.switchboard.judge((call, content) => this.#judge(call, content));
  }

  /** The next part of the life has begun. */
  begin(act: string): void {
    this.#naming.act = act;
  }

  end(): void {
    this.#leave();
  }

  /** Calls of another life that were not struck in this one. */
  missed(others: Iterable<string>): string[] {
    return [...others].filter(
      (name) => !this.#struck.has(name) && selectedNames.test(name) && !isNondeterministic(name),
    );
  }

  /** The calls that were struck last, or of those that have to do with `names`: the last one first. */
  story(names: readonly string[] = [], most = 12): string {
    const words = names.flatMap((name) => name.split(' ').slice(-1));
    const told = this.strikes.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)));
    const lines = told
      .slice(-most)
      .reverse()
      .map(({ number, at, act, name, kind }) => `  #${number} ${at.toISOString()} while "${act}": ${name} (${kind})`);
    const about = words.length > 0 ? ` that have to do with ${words.join(', ')}` : '';
    return [`Struck last, of ${this.strikes.length} calls${about}:`, ...lines, ''].join('\n');
  }

  #judge(call: InterceptedCall, content: unknown): Fault | undefined {
    if (this.isPaused || !isProviderCall(call) || isNodeCall(call)) return undefined;
    const names = this.#naming.namesOf(call, content);
    for (const name of names) this.seen.add(name);
    const [name = '', fault] = this.#strike(call, names) ?? [];
    if (fault) {
      for (const one of names) this.#struck.add(one);
      this.strikes.push({
        number: this.strikes.length + 1,
        at: new Date(),
        act: this.#naming.act,
        name,
        kind: fault.kind,
      });
    }
    if (hasEffect(fault)) this.#naming.follow(call, content);
    return fault;
  }

  /** The first of its names under which the call is struck, and how. */
  #strike(call: InterceptedCall, names: readonly string[]): readonly [string, Fault] | undefined {
    for (const name of names) {
      const isDue = !this.#struck.has(name) && selectedNames.test(name);
      const fault = isDue ? this.#striker?.strike(call, name) : undefined;
      if (fault) return [name, fault];
    }
    return undefined;
  }
}

const hasEffect = (fault: Fault | undefined): boolean =>
  fault?.kind === 'silence' ? fault.done === true : fault?.kind !== 'drop' && fault?.kind !== 'error';

/**
 * Calls that a life may do without. The end of a job is asked for when nobody told it; a report says what is new since the
 * last one; a machine at rest is asked itself where its cluster does not tell of it, and its nodes are watched anew when a watch
 * has ended; one that is put right may be well again before anybody says otherwise, and is found so, with no step left to take,
 * when the answer to its start came too late; a Host waits only where it is looked at before its ProviderConfig; access is looked
 * at again by the clock; signing keys are asked for when a minute is over, and what Robot tells of all servers when half a minute
 * is; and Events are said once, so that who dies before never says them.
 */
const isNondeterministic = (name: string): boolean => nondeterministicCalls.some((one) => one.test(name));
const nondeterministicCalls: readonly RegExp[] = [
  /core\.get_jobs|robot GET \/server /,
  /^talos cosi\.resource\.State\/Get \(\S+\)$|^talos [^:]+: cosi\.resource\.State\/Get MachineStatuses\./,
  / report$|\/machines\/\S+\/status (Degraded|begin old-seed-emptied)$|\/hosts\/\S+\/status Pending$/,
  / \(again\)$|\/events|\/openid\/v1\/jwks|^workload (GET|WATCH) \/api\/v1\/nodes /,
  // Which boot a node is in is asked only where it was missed while its API server was away.
  /^talos (\S+: )?machine\.MachineService\/Read |^workload (\S+: )?GET \/api\/v1\/nodes\/\S+( \(|$)/,
  // Members of etcd prove its bootstrap only where no Machine has joined before they are asked for.
  /^talos (\S+: )?machine\.MachineService\/EtcdMemberList \(\S+\)$/,
];
