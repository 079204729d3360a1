import {
  type AdmissionPolicy,
  ValidatingAdmissionPolicy as Policy,
  ValidatingAdmissionPolicyBinding as PolicyBinding,
} from '../kube/core-types.ts';
import { apiVersionOf } from '../kube/resource.ts';
import { Machine } from './machine.ts';
import { annotations, group, managedByLabels } from './names.ts';

const metadata = { name: `machines.${group}`, labels: managedByLabels };
const annotationsPath = 'oldObject.metadata.annotations';
const approvalReason = 'LastControlPlane';

/**
 * Refuses to delete the only control plane of a cluster. A finalizer would be too late: a deletion cannot be undone
 * once it has begun, so the name of the Machine would stay taken until the cluster is given up.
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
          `!has(${annotationsPath})`,
          `!('${annotations.onlyControlPlane}' in ${annotationsPath})`,
          `('${annotations.approve}' in ${annotationsPath} && ${annotationsPath}['${annotations.approve}'].split(',').exists(reason, reason.trim() == '${approvalReason}'))`,
        ].join(' || '),
        message: `The Machine is the only control plane of its cluster: deleting it destroys the cluster. To do so, delete the Cluster, or set the annotation ${annotations.approve}: ${approvalReason} on the Machine first.`,
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

/** The policy comes before its binding: a binding without a policy is an error for every request that it matches. */
export const machineDeletionPolicy = [
  { type: Policy, object: policy },
  { type: PolicyBinding, object: binding },
] as const;
