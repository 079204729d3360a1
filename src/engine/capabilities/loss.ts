/** For platforms whose machines a user may declare lost, because nothing can prove what became of them. */
export interface LossCapability {
  /**
   * Reasons and codes with which the release of a machine stops when its failure domain does not answer, is no longer
   * configured, or is a different one. A user may then declare it permanently lost. Default: failure domains do not get
   * lost.
   */
  readonly lostReasons?: readonly string[];
  /**
   * Reasons with which the release of a machine stops because nothing proves that it no longer runs. A user may
   * approve: then the fact `approved` has the reason, the step counts as done, and nothing more is done to the machine.
   * Default: none.
   */
  readonly unprovenReasons?: readonly string[];
  /**
   * Those of `unprovenReasons` with which the release stops because the machine is dead. They need no approval if the
   * machine is replaced because its node is unhealthy. Default: none.
   */
  readonly deadReasons?: readonly string[];
}
