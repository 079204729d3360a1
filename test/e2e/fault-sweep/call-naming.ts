import type { InterceptedCall } from '../../world/faults/call-interceptor.ts';
import { maskIds } from './mask-ids.ts';

type Fields = Readonly<Record<string, unknown>>;

interface Progress {
  readonly plan: string;
  readonly step: string;
}

/**
 * Gives calls names by which the same call of another life is known again: who is asked for what, and, for what is done
 * for a machine, in which of its steps. Ids that differ from life to life are left out.
 */
export class CallNaming {
  /** What the life is about at the moment. */
  act = 'start';
  /** Where each machine is that is being made or unmade. */
  readonly #machines = new Map<string, Progress>();

  /** One name, or, of a question about several things, one for each: who asks at the same time asks together. */
  namesOf(call: InterceptedCall, content: unknown): readonly string[] {
    return splitQuery(call).map((part) => this.nameOf(part, content));
  }

  nameOf(call: InterceptedCall, content: unknown): string {
    const { room, name } = call;
    if (room === 'kube')
      return `kube ${nameApiRequest(call, content)}${isNamedByPhase.test(name) ? ` (${this.act})` : ''}`;
    if (room === 'workload') return `workload ${nameApiRequest(call, content)}${this.#occasion(name)}`;
    const named = findMachineName(`${name} ${JSON.stringify(call.detail ?? '')}`);
    const machine = named ?? (isUnnamed(call) ? this.#only(call) : undefined);
    const { plan = '', step = '' } = this.#machines.get(machine ?? '') ?? {};
    const isOfStep = plan === 'release' || !isClusterCall.test(name);
    const who = machine ? ` (${machine}${step && isOfStep ? ` ${step}` : ''})` : '';
    const what = name.startsWith('ssh ') ? `ssh${rescueCommandOf(content)}` : maskIds(name);
    return `${room} ${what}${nasCallSubject(call)}${who}`;
  }

  /** Has to be told of every call that has its effect, so that it knows in which step a machine is. */
  follow(call: InterceptedCall, content: unknown): void {
    if (call.room !== 'kube' || !/^PATCH .*\/machines\/.*\/status$/.test(call.name)) return;
    const machine = findMachineName(call.name);
    const { plan, step, finishedAt } = asFields(asFields(parseBody(content)['status'])['progress']);
    if (machine === undefined || typeof step !== 'string') return;
    const before = this.#machines.get(machine)?.plan ?? '';
    if (finishedAt) this.#machines.delete(machine);
    else this.#machines.set(machine, { plan: typeof plan === 'string' ? plan : before, step });
  }

  /** Access is looked at again now and then, whatever the life is about. */
  #occasion(name: string): string {
    if (/ \/(version|api\/v1\/namespaces\/kube-system)$/.test(name)) return '';
    return accessPhases.includes(this.act) ? ` (${this.act})` : ' (again)';
  }

  /** The machine that is being made, where there is only one; VMs that are unmade are named. */
  #only({ room }: InterceptedCall): string | undefined {
    const [machine, ...others] = [...this.#machines].filter(([, { plan }]) => plan === 'provision' || room === 'robot');
    return others.length === 0 ? machine?.[0] : undefined;
  }
}

const accessPhases = ['grant', 'renew', 'change', 'withdraw'];
/** Writes that come in several parts of a life and mean something else in each. */
const isNamedByPhase = /^(PATCH|PUT|DELETE) .*\/(accessrequests|clusterprofiles)\//;
/** Calls that the cluster makes to a machine, in whichever step it happens to be. In a release the machine makes them itself. */
const isClusterCall = /\/(ServiceList|EtcdMemberList|Bootstrap)$/;
/** Calls that are made for a machine and do not name it. */
const isUnnamed = ({ room, name, detail }: InterceptedCall): boolean =>
  ['image-factory', 'robot'].includes(room) ||
  name.startsWith('POST ') ||
  /\/images\/|"robot-\d+"/.test(JSON.stringify(detail ?? ''));

const findMachineName = (text: string): string | undefined =>
  /main[-_][a-z0-9]{8}[-_](cp|work)[-_](\d)/.exec(text)?.slice(1).join('-');

/** What a command in a rescue system does, where its step does not say it. */
function rescueCommandOf(content: unknown): string {
  const text = String(content);
  const [, job] = /\/(wipe|write)-[0-9a-f]{32}/.exec(text) ?? [];
  const [program] = /(exec|test) [^\n']+|lsblk -P/.exec(text) ?? [];
  const what = job ?? program;
  return what === undefined ? '' : ` ${what}`;
}

/** A call to the NAS that asks for several things, as so many calls that ask for one. */
function splitQuery(call: InterceptedCall): readonly InterceptedCall[] {
  if (call.room !== 'truenas' || !Array.isArray(call.detail)) return [call];
  const filters = call.name.endsWith('.query') ? alternatives(call.detail[0]) : [];
  return filters.length > 1 ? filters.map((filter) => ({ ...call, detail: [filter] })) : [call];
}

/** What could be asked for by itself: all lists in a filter go in step. */
function alternatives(filters: unknown): readonly unknown[] {
  const lists = inFilterValues(filters);
  const most = Math.max(0, ...lists.map(({ length }) => length));
  return Array.from({ length: most }, (_, i) => lists.map((list) => list[i]));
}

/** The values of each `[field, 'in', values]`, however deep. */
function inFilterValues(filters: unknown): readonly (readonly unknown[])[] {
  if (!Array.isArray(filters)) return [];
  if (filters[1] === 'in' && Array.isArray(filters[2])) return [filters[2]];
  return filters.flatMap(inFilterValues);
}

/** What a call to the NAS is about, where the method alone does not say it. */
function nasCallSubject({ room, name, detail }: InterceptedCall): string {
  if (room !== 'truenas' || !Array.isArray(detail)) return '';
  const [first] = detail as unknown[];
  if (name === 'vm.device.create') {
    const { vm, attributes, order } = asFields(first);
    return ` ${asFields(attributes)['dtype']} ${order} of ${vm}`;
  }
  if (typeof first === 'number' && name.startsWith('vm.')) return ` ${first}`;
  const dataset = /tank\/talos[^"]*/.exec(JSON.stringify(first) ?? '')?.[0];
  return name.startsWith('pool.dataset.') && dataset ? ` ${maskIds(dataset)}` : '';
}

/** A request to an API server: verb, path, and what of the object it is about. */
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
