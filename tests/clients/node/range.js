// The range assignor for kafkajs: of each topic, each of its subscribers (by member id) gets a run of partitions, the
// first ones get one more where they do not divide evenly.
'use strict'

const { AssignerProtocol } = require('kafkajs')

const version = 0

module.exports = ({ cluster }) => ({
  name: 'range',
  version,

  protocol({ topics }) {
    return { name: 'range', metadata: AssignerProtocol.MemberMetadata.encode({ version, topics, userData: Buffer.alloc(0) }) }
  },

  async assign({ members }) {
    const subscribers = new Map()
    for (const { memberId, memberMetadata } of members) {
      for (const topic of AssignerProtocol.MemberMetadata.decode(memberMetadata).topics) {
        subscribers.set(topic, [...(subscribers.get(topic) || []), memberId].sort())
      }
    }
    const assignments = new Map(members.map(({ memberId }) => [memberId, {}]))
    for (const [topic, ids] of subscribers) {
      const partitions = cluster.findTopicPartitionMetadata(topic).map(({ partitionId }) => partitionId).sort((a, b) => a - b)
      const share = Math.floor(partitions.length / ids.length)
      const more = partitions.length % ids.length
      let start = 0
      ids.forEach((id, index) => {
        const count = share + (index < more ? 1 : 0)
        assignments.get(id)[topic] = partitions.slice(start, start + count)
        start += count
      })
    }
    return [...assignments].map(([memberId, assignment]) => ({
      memberId,
      memberAssignment: AssignerProtocol.MemberAssignment.encode({ version, assignment, userData: Buffer.alloc(0) })
    }))
  }
})
