import type { InterceptedCall } from '../../../world/faults/call-interceptor.ts';
import { CallNaming, nameApiRequest } from '../call-naming.ts';

const machinePattern = /main[-_][a-z0-9]{8}[-_](cp|work)[-_](\d)/g;

/** Names of Machines without the hash of their cluster. */
export const maskMachines = (text: string): string => text.replace(machinePattern, '$1-$2');

/** `cp` or `work`: what happens to one control plane happens to the others. */
const maskSlots = (text: string): string => text.replace(machinePattern, '$1');

/** Names calls by the phase, the kind of node, and the step of that node's Machine. */
export class UpdateCallNaming extends CallNaming {
  /** By role. A rollout changes one Machine at a time. */
  readonly #steps = new Map<string, string>();
  /** The phase of the rotation of a certificate authority. */
  #phase = '';

  override nameOf(call: InterceptedCall, content: unknown): string {
    const { simulator, name } = call;
    if (simulator === 'talos') {
      const { node = '' } = (call.detail ?? {}) as { node?: string };
      const { type = '' } = (content ?? {}) as { type?: string };
      const [, role = ''] = /_(cp|work)_/.exec(node) ?? [];
      return ['talos', `${this.#now}:`, name, type, `(${role}${this.#stepOf(role)})`].filter(Boolean).join(' ');
    }
    if (simulator !== 'kube' && simulator !== 'workload') return `${simulator} ${this.act}: ${name}`;
    const request = maskSlots(nameApiRequest(call, content)).replace(/\/pods\/[^/ ]+/, '/pods/<pod>');
    return `${simulator} ${this.#now}: ${request}${rotationPhaseOf(call, content)}`;
  }

  override follow(call: InterceptedCall, content: unknown): void {
    super.follow(call, content);
    if (call.simulator !== 'kube') return;
    this.#phase = rotationPhaseOf(call, content) || this.#phase;
    const [, role, step] =
      /\/machines\/main-\w+-(cp|work)-\d\/status begin (\S+)$/.exec(nameApiRequest(call, content)) ?? [];
    if (role && step) this.#steps.set(role, step);
  }

  get #now(): string {
    return `${this.act}${this.#phase}`;
  }

  #stepOf(role: string): string {
    const step = this.#steps.get(role);
    return step ? ` ${step}` : '';
  }
}

/** ` accept`, ` issue`, ` remove` or ` finished` of a write of the Secret that changes it; else empty. */
function rotationPhaseOf({ name }: InterceptedCall, content: unknown): string {
  if (!/^PATCH \S+\/secrets\//.test(name) || !Buffer.isBuffer(content)) return '';
  const { data } = JSON.parse(content.toString('utf8')) as { data?: Record<string, string | null> };
  const stored = data?.['rotation.yaml'];
  if (stored === undefined) return '';
  return ` ${/^phase: (\w+)$/m.exec(Buffer.from(stored ?? '', 'base64').toString('utf8'))?.[1] ?? 'finished'}`;
}

/** Calls that a provider makes at its start, by its heartbeat, or by the clock. */
const isBackgroundCall = (name: string): boolean =>
  / (WATCH|GET \S+\/(v1|v1alpha1)\/[a-z]+( with.*)?$)|\/(leases|events|selfsubject\w+)|status [A-Z]\w+$/.test(name);

/** The calls that belong to a rollout. */
export const isUpdateCall = (name: string): boolean => /^(kube|workload|talos) /.test(name) && !isBackgroundCall(name);

/**
 * What changes a node, and the records of these changes: every run makes these calls. Dry runs of a configuration and pulls
 * of images before the steps come when a node is compared. Pods may be on other nodes.
 */
export const isUpdateEffect = (name: string): boolean =>
  /\/ApplyConfiguration \(\w+ configuration-|\/Pull \(\w+ (images|system)-|\/(Reboot|Upgrade) |PATCH \S+\/(nodes|machines)\/\w+( |$)|\/status begin /.test(
    name,
  );

/** The calls that belong to a remediation. A hypervisor does the restart. */
export const isRemediationCall = (name: string): boolean =>
  isUpdateCall(name) || / (vm\.(stop|poweroff|start)|system\.state)$/.test(name);

/** The request, its record, and the restart. */
export const isRemediationEffect = (name: string): boolean =>
  /\/status begin |PATCH \S+\/machines\/\w+( |$)| vm\.(stop|start)$/.test(name);

/** The writes of the Secret with which the phases of a rotation begin, and what brings them to the nodes. */
export const isRotationEffect = (name: string): boolean =>
  /\/ApplyConfiguration \(\w+ configuration-|PATCH \S+\/(secrets|machines)\/\w+[^/]*$|\/status begin /.test(name);
