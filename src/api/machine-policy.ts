import {
  type AdmissionPolicy,
  ValidatingAdmissionPolicy as Policy,
  ValidatingAdmissionPolicyBinding as PolicyBinding,
} from '../kube/core-types.ts';
import { apiVersionOf } from '../kube/resource.ts';
import { Machine } from './machine.ts';
import { annotations, group, managedBy } from './names.ts';

const metadata = { name: `machines.${group}`, labels: managedBy };
const notes = 'oldObject.metadata.annotations';
const agreed = 'LastControlPlane';

/**
 * Refuses to delete the only control plane of a cluster. A finalizer would be too late: a deletion that has begun cannot be
 * taken back, so the name of the machine would be taken until somebody gives the cluster up.
 */
const policy: AdmissionPolicy = {
  apiVersion: apiVersionOf(Policy),
  kind: Policy.kind,
  metadata,
  spec: {
    failurePolicy: 'Fail',
    matchConstraints: {
      resourceRules: [
        { apiGroups: [group], apiVersions: ['*'], operations: ['DELETE'], resources: [Machine.plural], scope: '*' },
      ],
    },
    validations: [
      {
        expression: [
          `!has(${notes})`,
          `!('${annotations.onlyControlPlane}' in ${notes})`,
          `('${annotations.mend}' in ${notes} && ${notes}['${annotations.mend}'].split(',').exists(reason, reason.trim() == '${agreed}'))`,
        ].join(' || '),
        message: `It is the only control plane of its cluster, which would be lost with it. To have that, delete the Cluster, or put the annotation ${annotations.mend}: ${agreed} on the Machine first.`,
        reason: 'Forbidden',
      },
    ],
  },
};

const binding: AdmissionPolicy = {
  apiVersion: apiVersionOf(PolicyBinding),
  kind: PolicyBinding.kind,
  metadata,
  spec: { policyName: metadata.name, validationActions: ['Deny'] },
};

/** The policy before its binding: a binding without a policy is an error to whatever it would match. */
export const machinePolicy = [
  { type: Policy, object: policy },
  { type: PolicyBinding, object: binding },
] as const;
