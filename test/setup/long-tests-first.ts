import type { TestSpecification } from 'vitest/node';
import { BaseSequencer } from 'vitest/node';

/**
 * What takes most of a minute or more, so that nobody waits for it alone at the end. Most sweeps
 * want a core each: between them stands what waits for other programs.
 */
const longTests = [
  /e2e\/fault-sweep\/faults/,
  /e2e\/fault-sweep\/kills/,
  /e2e\/(real-operator|operator-)/,
  /e2e\/fault-sweep\/(robot|trust-rollouts)/,
  /e2e\/oidc-/,
  /e2e\/fault-sweep\/soak/,
  /kube\/real\.test/,
  /platforms\/hetzner-robot\/(reset-budget|server-faults)/,
  /platforms\/truenas\/(crashes|call-faults)|operator\/operator/,
  /platforms\/hetzner-robot/,
  /platforms\/truenas\/(repair-faults|change-events|encryption)|talos\/(testing\/talosctl|workload\/real)|qemu\.test|world\/main\.test/,
];

const rank = ({ moduleId }: TestSpecification): number => {
  const index = longTests.findIndex((pattern) => pattern.test(moduleId));
  return index < 0 ? longTests.length : index;
};

/** Of each project the long ones first, the rest as vitest has it. A worker that changes to another project begins anew. */
export class LongTestsFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const projects = [...new Set(sorted.map(({ project }) => project.name))];
    const at = ({ project }: TestSpecification): number => projects.indexOf(project.name);
    return sorted.toSorted((a, b) => at(a) - at(b) || rank(a) - rank(b));
  }
}
