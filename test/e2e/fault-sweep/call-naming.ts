import type { InterceptedCall } from '../../world/faults/call-interceptor.ts';
import { maskIds } from './mask-ids.ts';

type Fields = Readonly<Record<string, unknown>>;

interface Progress {
  readonly plan: string;
  readonly step: string;
}

/**
 * Names calls so that the same call of another run has the same name: the server, the method, and, for a call on behalf
 * of a machine, its step. Ids that differ between runs are masked.
 */
export class CallNaming {
  /** The current phase of the scenario. */
  act = 'start';
  /** The current step of each machine in creation or deletion. */
  readonly #machines = new Map<string, Progress>();

  /** One name, or one for each item of a query for several items: concurrent queries may be combined. */
  namesOf(call: InterceptedCall, content: unknown): readonly string[] {
    return splitQuery(call).map((part) => this.nameOf(part, content));
  }

  nameOf(call: InterceptedCall, content: unknown): string {
    const { simulator, name } = call;
    if (simulator === 'kube')
      return `kube ${nameApiRequest(call, content)}${isNamedByPhase.test(name) ? ` (${this.act})` : ''}`;
    if (simulator === 'workload') return `workload ${nameApiRequest(call, content)}${this.#occasion(name)}`;
    const named = findMachineName(`${name} ${JSON.stringify(call.detail ?? '')}`);
    const machine = named ?? (isUnnamed(call) ? this.#only(call) : undefined);
    const { plan = '', step = '' } = this.#machines.get(machine ?? '') ?? {};
    const isOfStep = plan === 'release' || !isClusterCall.test(name);
    const who = machine ? ` (${machine}${step && isOfStep ? ` ${step}` : ''})` : '';
    const what = name.startsWith('ssh ') ? `ssh${rescueCommandOf(content)}` : maskIds(name);
    return `${simulator} ${what}${nasCallSubject(call)}${who}`;
  }

  /** Tracks the step of each machine. Has to be called for every call that takes effect. */
  follow(call: InterceptedCall, content: unknown): void {
    if (call.simulator !== 'kube' || !/^PATCH .*\/machines\/.*\/status$/.test(call.name)) return;
    const machine = findMachineName(call.name);
    const { plan, step, finishedAt } = asFields(asFields(parseBody(content)['status'])['progress']);
    if (machine === undefined || typeof step !== 'string') return;
    const before = this.#machines.get(machine)?.plan ?? '';
    if (finishedAt) this.#machines.delete(machine);
    else this.#machines.set(machine, { plan: typeof plan === 'string' ? plan : before, step });
  }

  /** Access is checked again from time to time, in every phase. */
  #occasion(name: string): string {
    if (/ \/(version|api\/v1\/namespaces\/kube-system)$/.test(name)) return '';
    return accessPhases.includes(this.act) ? ` (${this.act})` : ' (again)';
  }

  /** The only machine in creation, if there is exactly one; calls about VMs in deletion name the machine. */
  #only({ simulator }: InterceptedCall): string | undefined {
    const [machine, ...others] = [...this.#machines].filter(
      ([, { plan }]) => plan === 'provision' || simulator === 'robot',
    );
    return others.length === 0 ? machine?.[0] : undefined;
  }
}

const accessPhases = ['grant', 'renew', 'change', 'withdraw'];
/** Writes that occur in several phases, with a different meaning in each. */
const isNamedByPhase = /^(PATCH|PUT|DELETE) .*\/(accessrequests|clusterprofiles)\//;
/**
 * Calls that the cluster makes to a machine, in any of the machine's steps. In a release the machine's own steps make
 * them.
 */
const isClusterCall = /\/(ServiceList|EtcdMemberList|Bootstrap)$/;
/** Calls for a machine that do not name it. */
const isUnnamed = ({ simulator, name, detail }: InterceptedCall): boolean =>
  ['image-factory', 'robot'].includes(simulator) ||
  name.startsWith('POST ') ||
  /\/images\/|"robot-\d+"/.test(JSON.stringify(detail ?? ''));

const findMachineName = (text: string): string | undefined =>
  /main[-_][a-z0-9]{8}[-_](cp|work)[-_](\d)/.exec(text)?.slice(1).join('-');

/** The action of a command in a rescue system, where its step does not identify it. */
function rescueCommandOf(content: unknown): string {
  const text = String(content);
  const [, job] = /\/(wipe|write)-[0-9a-f]{32}/.exec(text) ?? [];
  const [program] = /(exec|test) [^\n']+|lsblk -P/.exec(text) ?? [];
  const what = job ?? program;
  return what === undefined ? '' : ` ${what}`;
}

/** Splits a NAS query for several items into queries for one item. */
function splitQuery(call: InterceptedCall): readonly InterceptedCall[] {
  if (call.simulator !== 'truenas' || !Array.isArray(call.detail)) return [call];
  const filters = call.name.endsWith('.query') ? alternatives(call.detail[0]) : [];
  return filters.length > 1 ? filters.map((filter) => ({ ...call, detail: [filter] })) : [call];
}

/** Filters for one item each: element i of every list in the filter belongs to item i. */
function alternatives(filters: unknown): readonly unknown[] {
  const lists = inFilterValues(filters);
  const max = Math.max(0, ...lists.map(({ length }) => length));
  return Array.from({ length: max }, (_, i) => lists.map((list) => list[i]));
}

/** The values of each `[field, 'in', values]`, at any depth. */
function inFilterValues(filters: unknown): readonly (readonly unknown[])[] {
  if (!Array.isArray(filters)) return [];
  if (filters[1] === 'in' && Array.isArray(filters[2])) return [filters[2]];
  return filters.flatMap(inFilterValues);
}

/** The subject of a NAS call, where the method alone does not identify it. */
function nasCallSubject({ simulator, name, detail }: InterceptedCall): string {
  if (simulator !== 'truenas' || !Array.isArray(detail)) return '';
  const [first] = detail as unknown[];
  if (name === 'vm.device.create') {
    const { vm, attributes, order } = asFields(first);
    return ` ${asFields(attributes)['dtype']} ${order} of ${vm}`;
  }
  if (typeof first === 'number' && name.startsWith('vm.')) return ` ${first}`;
  const dataset = /tank\/talos[^"]*/.exec(JSON.stringify(first) ?? '')?.[0];
  return name.startsWith('pool.dataset.') && dataset ? ` ${maskIds(dataset)}` : '';
}

/** A request to an API server: verb, path, and the part of the object that it concerns. */
export function nameApiRequest({ name, detail }: InterceptedCall, content: unknown): string {
  const { query } = detail as { query: Readonly<Record<string, string>> };
  const [verb = '', path = ''] = name.split(' ');
  const selector = query['labelSelector'] ? ` with ${query['labelSelector']}` : '';
  const words = [
    query['watch'] ? 'WATCH' : verb,
    maskIds(decodeURIComponent(path)),
    requestPurpose(verb, path, content),
  ];
  return `${words.filter((word) => word !== '').join(' ')}${selector}`;
}

function requestPurpose(verb: string, path: string, content: unknown): string {
  const body = parseBody(content);
  if (/\/events$/.test(path)) return `${body['reason']}`;
  if (/\/leases$/.test(path) && verb === 'POST') return leasePurpose(String(asFields(body['spec'])['holderIdentity']));
  if (verb !== 'PATCH') return '';
  if (path.endsWith('/status')) return statusPurpose(asFields(body['status']));
  const { labels, annotations, finalizers } = asFields(body['metadata']);
  const keys = [...Object.keys(asFields(labels)), ...Object.keys(asFields(annotations))];
  return [...(finalizers ? ['finalizers'] : []), ...keys].join(', ');
}

const leasePurpose = (holder: string): string =>
  /^(machine|cluster)\//.test(holder) ? `for ${holder}` : 'for a leader';

function statusPurpose(status: Fields): string {
  const { step } = asFields(status['progress']);
  if (typeof step === 'string') return step === '' ? 'finished' : `begin ${step}`;
  const { phase, state, machineRef } = status;
  if (typeof state === 'string') return machineRef === null ? `${state} again` : state;
  return typeof phase === 'string' ? phase : 'report';
}

const asFields = (value: unknown): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {});

function parseBody(content: unknown): Fields {
  const text = Buffer.isBuffer(content) ? content.toString('utf8') : '';
  return text.startsWith('{') ? asFields(JSON.parse(text)) : {};
}
