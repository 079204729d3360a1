import type { Fault, InterceptedCall } from '../../world/faults/call-interceptor.ts';
import { isProviderCall } from '../support/observation/provider-calls.ts';
import type { Testbed } from '../support/testbed/testbed.ts';
import { CallNaming } from './call-naming.ts';

/** Decides the fault of each call that comes for the first time. */
export interface FaultInjector {
  /** `undefined` lets the call pass; the injector may be asked again for the next one of that name. */
  strike(call: InterceptedCall, name: string): Fault | undefined;
  /** Resolves when all effects of the faults have ended. */
  settled?(): Promise<void>;
}

/** Lets all other calls pass. */
export const restrictTo = (due: (name: string) => boolean, striker: FaultInjector): FaultInjector => ({
  strike: (call, name) => (due(name) ? striker.strike(call, name) : undefined),
  settled: async () => await striker.settled?.(),
});

/** One call with an injected fault. */
interface InjectedFault {
  readonly number: number;
  readonly at: Date;
  readonly act: string;
  readonly name: string;
  readonly kind: Fault['kind'];
}

/** Calls between nodes. */
const isNodeCall = (call: InterceptedCall): boolean =>
  (call.simulator === 'talos' && /^(installer|securityapi\.)/.test(call.name)) ||
  (call.simulator === 'image-factory' && /^GET \/(v2|schematics)\//.test(call.name));

/** `SWEEP_ONLY=REGEX` restricts faults to calls of such names, to isolate the one that breaks a run. */
const selectedNames = new RegExp(process.env['SWEEP_ONLY'] ?? '');

/** Injects a fault into every call of the provider when it comes for the first time, and records calls and faults. */
export class FaultSweep {
  /** Names of all calls. */
  readonly seen = new Set<string>();
  readonly strikes: InjectedFault[] = [];
  /** Whether calls pass without faults or records, because the test makes calls like the provider's. */
  isPaused = false;
  readonly #naming: CallNaming;
  readonly #struck = new Set<string>();
  readonly #striker: FaultInjector | undefined;
  readonly #leave: () => void;

  constructor(testbed: Testbed, striker?: FaultInjector, naming = new CallNaming()) {
    this.#naming = naming;
    this.#striker = striker;
    this.#leave = testbed.world.switchboard.judge((call, content) => this.#judge(call, content));
  }

  /** Starts the next phase of the scenario. */
  begin(act: string): void {
    this.#naming.act = act;
  }

  end(): void {
    this.#leave();
  }

  /** Calls of another run that got no fault in this one. */
  missed(others: Iterable<string>): string[] {
    return [...others].filter(
      (name) => !this.#struck.has(name) && selectedNames.test(name) && !isNondeterministic(name),
    );
  }

  /** The last faults, or the last ones that concern `names`: the latest first. */
  story(names: readonly string[] = [], max = 12): string {
    const words = names.flatMap((name) => name.split(' ').slice(-1));
    const told = this.strikes.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)));
    const lines = told
      .slice(-max)
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

  /** The first of the call's names that gets a fault, and the fault. */
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
 * Calls that a run may omit:
 *
 * - The provider asks for the end of a job only when no event reported it.
 * - A report contains the changes since the last one.
 * - An idle machine is asked directly where its cluster does not report it. Its nodes are watched anew when a watch has
 *   ended.
 * - A machine in repair may recover before any report, and is found ready with no step left when the answer to its
 *   start came too late.
 * - A step that only reads is recorded when it has to wait. A provider that was restarted may find it done.
 * - A Host waits only when it is reconciled before its ProviderConfig.
 * - Access is checked again by the clock.
 * - Signing keys are cached for a minute, and Robot's list of servers for half a minute.
 * - Events are written once, so a provider that is killed before the write never writes them.
 * - A running node is compared with its desired state after a change. Several changes at once need one comparison.
 * - The first comparison of a running node registers the schematic. Its call gets the name of a machine's step if one
 *   machine is in creation at that time.
 */
const isNondeterministic = (name: string): boolean => nondeterministicCalls.some((one) => one.test(name));
const nondeterministicCalls: readonly RegExp[] = [
  /core\.get_jobs|robot GET \/server /,
  /^image-factory POST \/schematics$/,
  /^talos [^:]+: cosi\.resource\.State\/Get MachineStatuses\./,
  /^talos (cosi\.resource\.State\/(Get|List)|machine\.MachineService\/Version)( \(\S+\))?$/,
  /^talos [^:]+: (cosi\.resource\.State\/(Get KubeletSpecs\.|List )|machine\.MachineService\/Version )/,
  / report$|\/machines\/\S+\/status (Degraded|begin old-seed-emptied)$|\/hosts\/\S+\/status Pending$/,
  /^kube (live|talosCa|kubernetesCa).*\/status begin (configuration-active|node-(healthy|uncordoned))$/,
  / \(again\)$|\/events|\/openid\/v1\/jwks|^workload (GET|WATCH) \/api\/v1\/nodes /,
  // A node is examined only where it was found missing while its API server was away. Phases have spaces in their names.
  /^talos ([^:]+: )?machine\.MachineService\/Read |^workload ([^:]+: )?GET \/api\/v1\/nodes\/\S+( \(|$)/,
  /^talos withdraw [^:]+: machine\.MachineService\/(ServiceList|EtcdStatus) /,
  // The etcd members prove the bootstrap only where no Machine has joined before the call.
  /^talos ([^:]+: )?machine\.MachineService\/EtcdMemberList \(\S+\)$/,
];
