import { describe, expect, it } from 'vitest';
import { aMachine } from '../../../../test/support/fixtures/builders.ts';
import type { Machine, MachineStatus } from '../../../api/machine.ts';
import { describeStage, planStages } from './stages.ts';

const hop = { from: '1.34.1', to: '1.35.2', target: '1.35.2' };

type Applied = NonNullable<MachineStatus['applied']>;

/** A cluster whose nodes take what their Machines ask for, one at a time. */
class Cluster {
  machines: Machine[];

  constructor(controlPlanes = 3, workers = 2) {
    this.machines = [
      ...Array.from({ length: controlPlanes }, (_, slot) => runs(aMachine(slot))),
      ...Array.from({ length: workers }, (_, slot) => runs(aMachine(slot, [], 'web'))),
    ];
  }

  plan = () => planStages(hop, this.machines, true);

  /** Writes the specs that the plan asks for. */
  write(): void {
    const { desired } = this.plan();
    this.machines = this.machines.map((machine) => {
      const { components: _, ...spec } = machine.spec;
      return { ...machine, spec: { ...spec, ...desired(machine) } };
    });
  }

  /** Lets one machine take what its spec asks for. False: every machine has it. */
  step(): boolean {
    const index = this.machines.findIndex(
      (machine) => JSON.stringify(seen(machine)) !== JSON.stringify(machine.status?.applied),
    );
    const machine = this.machines[index];
    if (!machine?.status) return false;
    this.machines[index] = { ...machine, status: { ...machine.status, applied: seen(machine) } };
    return true;
  }

  versions = () => this.machines.map((machine) => machine.status?.applied);
}

const seen = ({ spec }: Machine): Applied => {
  const version = spec.kubernetesVersion;
  if (spec.role === 'worker') return { kubernetesVersion: version };
  const same = { apiServer: version, controllerManager: version, scheduler: version, proxy: version };
  return { kubernetesVersion: version, components: { ...same, ...spec.components } };
};

function runs(machine: Machine, version = hop.from): Machine {
  const made = { ...machine, spec: { ...machine.spec, kubernetesVersion: version } };
  return { ...made, status: { ...(made.status as MachineStatus), applied: seen(made) } };
}

const minor = (version: string | undefined): number => Number(version?.split('.')[1]);

describe('the stages of an upgrade of Kubernetes', () => {
  it('D16, D18: one component after the other, each on all control planes first, kubelets never ahead of an API server', () => {
    const cluster = new Cluster();
    const story: string[] = [];
    for (let i = 0; i < 100 && cluster.plan().stage !== 'manifests'; i += 1) {
      cluster.write();
      story.push(describeStage(cluster.plan(), hop.to));
      cluster.step();
      const applied = cluster.versions();
      const servers = applied.flatMap((one) => one?.components?.apiServer ?? []);
      const oldest = Math.min(...servers.map(minor));
      for (const one of applied) expect(minor(one?.kubernetesVersion)).toBeLessThanOrEqual(oldest);
      expect(Math.max(...servers.map(minor)) - oldest).toBeLessThanOrEqual(1);
    }
    expect(story.filter((_, i) => i % 3 === 0 && i < 15)).toEqual([
      '0 of 3 API servers run 1.35.2',
      '0 of 3 controller managers run 1.35.2',
      '0 of 3 schedulers run 1.35.2',
      '0 of 3 control planes have kube-proxy 1.35.2',
      '0 of 3 kubelets of control planes run 1.35.2',
    ]);
    expect(story.slice(15)).toEqual(['0 of 2 kubelets of workers run 1.35.2', '1 of 2 kubelets of workers run 1.35.2']);
    expect(cluster.machines.map(({ spec }) => [spec.kubernetesVersion, spec.components])).toEqual(
      Array.from({ length: 5 }, () => ['1.35.2', undefined]),
    );
  });

  it('asks for nothing before the images are there', () => {
    const { machines } = new Cluster();
    const plan = planStages(hop, machines, false);
    expect(plan).toMatchObject({ stage: 'apiServer', isNew: true, done: 0, total: 3 });
    expect(machines.map(plan.desired)).toEqual(machines.map(() => ({ kubernetesVersion: '1.34.1' })));
  });

  it('names only the components that differ', () => {
    const cluster = new Cluster();
    cluster.write();
    expect(cluster.machines[0]?.spec.components).toEqual({ apiServer: '1.35.2' });
    expect(cluster.machines[3]?.spec.components).toBeUndefined();
    expect(cluster.plan().isNew).toBe(false);
  });

  it('D18: gives a control plane that joins meanwhile what the others have, and takes nothing back from them', () => {
    const cluster = new Cluster();
    for (const _ of [1, 2, 3, 4]) {
      cluster.write();
      cluster.step();
    }
    const { status: _, ...made } = aMachine(3);
    const joining: Machine = { ...made, spec: { ...made.spec, kubernetesVersion: hop.from } };
    const { desired } = cluster.plan();
    expect(desired(joining)).toEqual({
      kubernetesVersion: '1.34.1',
      components: { apiServer: '1.35.2', controllerManager: '1.35.2' },
    });
    cluster.machines.push({ ...joining, spec: { ...joining.spec, ...desired(joining) } });
    expect(cluster.plan()).toMatchObject({ stage: 'apiServer', done: 3, total: 4 });
    expect(cluster.plan().desired(cluster.machines[0] ?? made)).toMatchObject({
      components: { controllerManager: '1.35.2' },
    });
    const worker = aMachine(7, [], 'web');
    expect(cluster.plan().desired({ spec: worker.spec })).toEqual({ kubernetesVersion: '1.34.1' });
  });

  it('D18: gives no kubelet a version that an API server lacks', () => {
    const cluster = new Cluster(3, 1);
    while (cluster.plan().stage !== 'workerKubelets') {
      cluster.write();
      cluster.step();
    }
    const [first] = cluster.machines;
    if (first) cluster.machines[0] = runs(first, hop.from);
    const [worker] = cluster.machines.slice(-1);
    expect(worker && cluster.plan().desired(worker)).toEqual({ kubernetesVersion: '1.34.1' });
  });

  it('takes the image of kube-proxy from the configuration when the node does not report it', () => {
    const cluster = new Cluster(1, 0);
    while (cluster.plan().stage !== 'proxy') {
      cluster.write();
      cluster.step();
    }
    cluster.write();
    const [only] = cluster.machines;
    if (!only?.status?.applied?.components) throw new Error('no components');
    const { proxy: _, ...others } = only.status.applied.components;
    const status = { ...only.status, applied: { revision: 'a', ...only.status.applied, components: others } };
    const pending = { revision: 'b', class: 'kubernetes' as const, fields: [] };
    cluster.machines = [{ ...only, status: { ...status, pending } }];
    expect(cluster.plan()).toMatchObject({ stage: 'proxy', done: 0 });
    cluster.machines = [{ ...only, status }];
    expect(cluster.plan()).toMatchObject({ stage: 'controlPlaneKubelets' });
  });

  it('continues an upgrade that was begun with an older patch', () => {
    const cluster = new Cluster(2, 0);
    const [first] = cluster.machines;
    if (first) cluster.machines[0] = { ...first, spec: { ...first.spec, components: { apiServer: '1.35.0' } } };
    cluster.step();
    cluster.write();
    expect(cluster.machines.map(({ spec }) => spec.components)).toEqual([
      { apiServer: '1.35.2' },
      { apiServer: '1.35.2' },
    ]);
  });
});
